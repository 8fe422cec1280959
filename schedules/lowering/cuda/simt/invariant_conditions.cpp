#include "lowering/cuda/simt/invariant_conditions.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lowering/accesses.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// What other threads see may be read by them, in turns that this one would leave out.
bool is_of_thread(const Allocate *op) {
    return op->memory_type != MemoryType::GPUShared;
}

// Whether others may see something of a statement.
class Effects : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Allocate *op) override {
        if (is_of_thread(op)) {
            own_.insert(op->name);
        }
        IRVisitor::visit(op);
    }
    void visit(const Store *op) override {
        any = any || own_.count(op->name) == 0;
        IRVisitor::visit(op);
    }
    void visit(const Call *op) override {
        any = any || !op->is_pure();
        IRVisitor::visit(op);
    }

    std::set<std::string> own_;

public:
    // `own`: arrays of the thread that are allocated around it, but inside of what is looked at.
    Effects(const Stmt &s, std::set<std::string> own) : own_(std::move(own)) {
        s.accept(this);
    }
    bool any = false;
};

// How often arrays that a thread has are accessed, in all and inside of each loop. Loops that were cut into parts have one name.
class TimesAccessed : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Allocate *op) override {
        if (is_of_thread(op)) {
            allocated.insert(op->name);
        }
        IRVisitor::visit(op);
    }
    void visit(const For *op) override {
        loops_.push_back(op->name);
        IRVisitor::visit(op);
        loops_.pop_back();
    }
    void visit(const Store *op) override {
        note(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Load *op) override {
        note(op->name);
        IRVisitor::visit(op);
    }

    void note(const std::string &array) {
        all[array]++;
        for (const auto &loop : std::set<std::string>(loops_.begin(), loops_.end())) {
            inside[loop][array]++;
        }
    }

    std::vector<std::string> loops_;

public:
    explicit TimesAccessed(const Stmt &s) {
        s.accept(this);
    }
    std::set<std::string> allocated;
    std::map<std::string, int> all;
    std::map<std::string, std::map<std::string, int>> inside;
};

class AskOnce : public IRMutator {
public:
    explicit AskOnce(const Stmt &kernel) : times_(kernel) {}

private:
    using IRMutator::visit;

    Stmt visit(const For *op) override {
        Stmt body = mutate(op->body);
        const std::set<std::string> own = accessed_in(op->name);
        const auto turns = as_const_int(op->extent);
        Expr all = const_true();
        while (turns && *turns > 0 && op->for_type != ForType::Vectorized) {
            const Expr condition = taken_out(op->name, own, &body);
            if (!condition.defined()) {
                break;
            }
            all = is_const_one(all) ? condition : all && condition;
        }
        const Stmt loop = For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy, op->device_api, body);
        return is_const_one(all) ? loop : IfThenElse::make(all, loop);
    }

    // Arrays of the thread that are accessed nowhere else: a turn has them for itself, wherever they are allocated.
    std::set<std::string> accessed_in(const std::string &loop) const {
        std::set<std::string> own;
        const auto here = times_.inside.find(loop);
        for (const auto &name : times_.allocated) {
            const auto all = times_.all.find(name);
            if (here != times_.inside.end() && all != times_.all.end() && here->second.count(name) &&
                here->second.at(name) == all->second) {
                own.insert(name);
            }
        }
        return own;
    }

    // The condition under which a turn has effects, if it is the same in all turns and loads something; the body is then without it.
    static Expr taken_out(const std::string &loop, const std::set<std::string> &own, Stmt *body) {
        Remove remove(loop, accesses_of(*body).stored, own);
        const Stmt without = remove.in(*body);
        if (!without.defined()) {
            return Expr();
        }
        *body = without;
        return remove.condition;
    }

    class Remove {
    public:
        Remove(const std::string &loop, std::set<std::string> stored, std::set<std::string> own)
            : stored_(std::move(stored)), own_(std::move(own)) {
            inside_.push(loop);
        }

        // Undefined where there is none.
        Stmt in(const Stmt &s) {
            if (const auto *let = s.as<LetStmt>()) {
                const ScopedBinding<> bind(!is_same(let->value), inside_, let->name);
                const ScopedBinding<> bind_loaded(is_same(let->value, true), loaded_, let->name);
                const Stmt body = in(let->body);
                if (!body.defined()) {
                    return body;
                }
                condition = substitute(let->name, let->value, condition);
                return LetStmt::make(let->name, let->value, body);
            }
            if (const auto *a = s.as<Allocate>()) {
                if (is_of_thread(a)) {
                    own_.insert(a->name);
                }
                const Stmt body = in(a->body);
                return body.defined() ? Allocate::make(a->name, a->type, a->memory_type, a->extents, a->condition, body, a->new_expr,
                                                       a->free_function, a->padding)
                                      : body;
            }
            if (const auto *p = s.as<ProducerConsumer>()) {
                const Stmt body = in(p->body);
                return body.defined() ? ProducerConsumer::make(p->name, p->is_producer, body) : body;
            }
            if (const auto *atomic = s.as<Atomic>()) {
                const Stmt body = in(atomic->body);
                return body.defined() ? Atomic::make(atomic->producer_name, atomic->mutex_name, body) : body;
            }
            if (const auto *block = s.as<Block>()) {
                const bool first = Effects(block->first, own_).any, rest = Effects(block->rest, own_).any;
                if (first == rest) {
                    return Stmt();
                }
                const Stmt changed = in(first ? block->first : block->rest);
                return !changed.defined() ? changed : first ? Block::make(changed, block->rest) : Block::make(block->first, changed);
            }
            const auto *branch = s.as<IfThenElse>();
            if (!branch || branch->else_case.defined() || !is_same(branch->condition, true)) {
                return Stmt();
            }
            condition = branch->condition;
            return branch->then_case;
        }

        Expr condition;

    private:
        // In all turns; `loads`: and loads something, or has what is loaded.
        bool is_same(const Expr &e, bool loads = false) const {
            class Look : public IRVisitor {
            public:
                bool changes = false;

            private:
                using IRVisitor::visit;
                void visit(const Call *op) override {
                    changes = changes || !op->is_pure();
                    IRVisitor::visit(op);
                }
            } look;
            e.accept(&look);
            const std::set<std::string> loaded = accesses_of(e).loaded;
            return (!loads || !loaded.empty() || expr_uses_vars(e, loaded_)) && !look.changes && !meet(loaded, stored_) &&
                   !expr_uses_vars(e, inside_);
        }

        const std::set<std::string> stored_;
        std::set<std::string> own_;
        Scope<> inside_, loaded_;  // names that are other values in other turns, and of what is loaded
    };

    const TimesAccessed times_;
};

}  // namespace

Stmt ask_invariant_conditions_once(const Stmt &body) {
    return AskOnce(body).mutate(body);
}

}  // namespace halyard
