#include "lowering/cuda/simt/launch_wait.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

const char *const kPrefetchL2 = "halyard_prefetch_l2", *const kWaitForLast = "halyard_wait_for_last",
                  *const kStartNext = "halyard_start_next";

namespace {

Stmt call(const char *name) {
    return Evaluate::make(Call::make(Int(32), name, {}, Call::Extern));
}

// What a kernel's statement loads of some inputs, as prefetches in the same loops and branches.
class Prefetches : public IRMutator {
public:
    explicit Prefetches(const BeforeWait &inputs) : prefetched_(inputs.prefetched), constant_(inputs.constant) {}

    // Undefined where there are none.
    Stmt of(const Stmt &s) {
        const Stmt found = mutate(s);
        return is_no_op(found) ? Stmt() : found;
    }

private:
    using IRMutator::mutate;
    using IRMutator::visit;

    static Stmt nothing() {
        return Evaluate::make(0);
    }

    // Whether a thread knows it when the kernel begins.
    bool is_known(const Expr &e) const {
        class Find : public IRVisitor {
        public:
            explicit Find(const Scope<> &of_data) : of_data_(of_data) {}
            bool found = false;

        private:
            using IRVisitor::visit;
            void visit(const Load *) override {
                found = true;
            }
            void visit(const Variable *op) override {
                found = found || of_data_.contains(op->name);
            }
            void visit(const Call *op) override {
                found = found || !op->is_pure();
                IRVisitor::visit(op);
            }
            const Scope<> &of_data_;
        } find(of_data_);
        e.accept(&find);
        return !find.found;
    }

    Stmt prefetches_in(const Expr &e) {
        class Find : public IRVisitor {
        public:
            std::vector<const Load *> loads;

        private:
            using IRVisitor::visit;
            void visit(const Load *op) override {
                loads.push_back(op);
                IRVisitor::visit(op);
            }
        } find;
        const Expr plain = substitute_in_all_lets(e);
        plain.accept(&find);
        std::vector<Stmt> all;
        for (const Load *load : find.loads) {
            const auto it = prefetched_.find(load->name);
            const auto *ramp = load->index.as<Ramp>();
            const Expr index = ramp ? ramp->base : load->index;
            if (it == prefetched_.end() || constant_.count(load->name) > 0 || !is_const_one(load->predicate) || index.type().lanes() > 1 ||
                !is_known(index)) {
                continue;
            }
            turns_ = std::max(turns_, it->second);
            const Expr element = Load::make(load->type.element_of(), load->name, index, load->image, load->param, const_true(), {});
            all.push_back(Evaluate::make(Call::make(Int(32), kPrefetchL2, {element}, Call::Extern)));
        }
        return all.empty() ? nothing() : Block::make(all);
    }

    static Stmt both(const Stmt &a, const Stmt &b) {
        return is_no_op(a) ? b : is_no_op(b) ? a : Block::make(a, b);
    }

    Stmt visit(const Store *op) override {
        return both(prefetches_in(op->value), prefetches_in(op->index));
    }
    Stmt visit(const Evaluate *op) override {
        return prefetches_in(op->value);
    }
    Stmt visit(const AssertStmt *) override {
        return nothing();
    }
    Stmt visit(const Free *) override {
        return nothing();
    }
    Stmt visit(const Block *op) override {
        const Stmt first = mutate(op->first);
        return both(first, mutate(op->rest));
    }
    Stmt visit(const Allocate *op) override {
        return mutate(op->body);
    }
    Stmt visit(const ProducerConsumer *op) override {
        return mutate(op->body);
    }
    Stmt visit(const Atomic *op) override {
        return mutate(op->body);
    }

    Stmt visit(const LetStmt *op) override {
        const Stmt of_value = prefetches_in(op->value);
        const bool known = is_known(op->value);
        ScopedBinding<> of_data(!known, of_data_, op->name);
        Stmt body = mutate(op->body);
        if (known && !is_no_op(body) && stmt_uses_var(body, op->name)) {
            body = LetStmt::make(op->name, op->value, body);
        }
        return both(of_value, body);
    }

    Stmt visit(const IfThenElse *op) override {
        const Stmt of_condition = prefetches_in(op->condition);
        if (!is_known(op->condition)) {
            return of_condition;
        }
        const Stmt then_case = mutate(op->then_case), else_case = op->else_case.defined() ? mutate(op->else_case) : nothing();
        if (is_no_op(then_case) && is_no_op(else_case)) {
            return of_condition;
        }
        const Stmt branch = is_no_op(else_case)   ? IfThenElse::make(op->condition, then_case)
                            : is_no_op(then_case) ? IfThenElse::make(!op->condition, else_case)
                                                  : IfThenElse::make(op->condition, then_case, else_case);
        return both(of_condition, branch);
    }

    Stmt visit(const For *op) override {
        if (!is_known(op->min) || !is_known(op->extent)) {
            return nothing();
        }
        const int around = std::exchange(turns_, 0);
        const Stmt body = mutate(op->body);
        const int turns = turns_;
        turns_ = std::max(turns_, around);
        return is_no_op(body) ? body
                              : For::make(op->name, op->min, simplify(min(op->extent, turns)), op->for_type, op->partition_policy,
                                          op->device_api, body);
    }

    const std::map<std::string, int> &prefetched_;
    const std::set<std::string> &constant_;  // which are read then
    Scope<> of_data_;
    int turns_ = 0;  // the most that an input in the loop around is prefetched
};

// Puts the wait behind what reads constant inputs alone.
class Sink {
public:
    Sink(const std::set<std::string> &constant, const Stmt &wait) : constant_(constant), wait_(wait) {}

    /** Undefined where nothing is read of them before. */
    Stmt in(const Stmt &s) {
        const Stmt result = into(s);
        return reads_ ? result : Stmt();
    }

private:
    Stmt into(const Stmt &s) {
        if (const auto *let = s.as<LetStmt>(); let && is_early(let->value)) {
            return LetStmt::make(let->name, let->value, into(let->body));
        }
        if (const auto *allocation = s.as<Allocate>()) {
            if (allocation->memory_type != MemoryType::GPUShared) {
                registers_.insert(allocation->name);
            }
            return Allocate::make(allocation->name, allocation->type, allocation->memory_type, allocation->extents, allocation->condition,
                                  into(allocation->body), allocation->new_expr, allocation->free_function, allocation->padding);
        }
        if (const auto *producer = s.as<ProducerConsumer>()) {
            return ProducerConsumer::make(producer->name, producer->is_producer, into(producer->body));
        }
        if (const auto *branch = s.as<IfThenElse>(); branch && is_early(branch->condition)) {
            return IfThenElse::make(branch->condition, into(branch->then_case),
                                    branch->else_case.defined() ? into(branch->else_case) : wait_);
        }
        if (const auto *block = s.as<Block>()) {
            return is_early(block->first) ? Block::make(block->first, into(block->rest)) : Block::make(into(block->first), block->rest);
        }
        return Block::make(wait_, s);
    }

    // Whether what was not computed of constant inputs is left alone. What stands in registers by now was.
    template<class Part>
    bool is_early(const Part &part) {
        class Find : public IRVisitor {
        public:
            explicit Find(const Sink &sink) : registers(sink.registers_), constant(sink.constant_) {}
            std::set<std::string> registers;
            const std::set<std::string> &constant;
            bool found = false, reads = false;

        private:
            using IRVisitor::visit;
            void visit(const Load *op) override {
                reads = reads || constant.count(op->name) > 0;
                found = found || (registers.count(op->name) == 0 && constant.count(op->name) == 0);
                IRVisitor::visit(op);
            }
            void visit(const Store *op) override {
                found = found || registers.count(op->name) == 0;
                IRVisitor::visit(op);
            }
            void visit(const Allocate *op) override {
                if (op->memory_type != MemoryType::GPUShared) {
                    registers.insert(op->name);
                }
                IRVisitor::visit(op);
            }
            void visit(const AssertStmt *op) override {
                op->condition.accept(this);
            }
            void visit(const Call *op) override {
                found = found || !op->is_pure();
                IRVisitor::visit(op);
            }
        } find(*this);
        part.accept(&find);
        reads_ = reads_ || (!find.found && find.reads);
        return !find.found;
    }

    const std::set<std::string> &constant_;
    const Stmt wait_;
    std::set<std::string> registers_;
    bool reads_ = false;  // constant inputs, before the wait
};

}  // namespace

void wait_for_last(Kernel &kernel, const BeforeWait &inputs) {
    const Stmt prefetches = inputs.prefetched.empty() ? Stmt() : Prefetches(inputs).of(kernel.body);
    const Stmt wait = call(kWaitForLast), next = call(kStartNext), both = Block::make(wait, next);
    const Stmt early = inputs.constant.empty() ? Stmt() : Sink(inputs.constant, inputs.next_at_once ? wait : both).in(kernel.body);
    // A constant input may be the same array as an output, of which other elements are written.
    const auto may_be_written = [&](const LaunchArgument &input) {
        return std::any_of(kernel.arguments.begin(), kernel.arguments.end(),
                           [&](const LaunchArgument &a) { return a.is_written && a.type == input.type; });
    };
    for (LaunchArgument &a : kernel.arguments) {
        a.is_in_order = early.defined() && (inputs.constant.count(a.name) == 0 || may_be_written(a));
    }
    kernel.body = !early.defined() ? Block::make(both, kernel.body) : inputs.next_at_once ? Block::make(next, early) : early;
    if (prefetches.defined()) {
        kernel.body = Block::make(prefetches, kernel.body);
    }
}

}  // namespace halyard
