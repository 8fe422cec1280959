#include "lowering/host/mma.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "lowering/accesses.h"
#include "lowering/host/buffer_bytes.h"
#include "lowering/extern_call.h"
#include "runtime/mma_ahead.h"
#include "lowering/host/mma_nest.h"
#include "lowering/host/mma_overlap.h"
#include "lowering/host/mma_step.h"
#include "lowering/host/mma_task.h"
#include "lowering/host/mma_touched.h"
#include "lowering/host/parallel_loops.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class MultiplyInTiles : public IRMutator {
public:
    MultiplyInTiles(std::vector<TileProduct> products, std::map<std::string, int> outputs, int64_t cached)
        : products_(std::move(products)), outputs_(std::move(outputs)), cached_(cached) {}

private:
    using IRMutator::visit;

    // A Func between its storage and the end of it.
    struct Stored {
        int loops = 0;       // around it
        bool fresh = false;  // its sums begin at 0
        bool whole = false;  // and all are made at once
        TouchedRows touched;
        int pairs = 0;                // that there is time for in what consumes it
        std::set<std::string> freed;  // arrays that end meanwhile
        Stmt begin_next;              // where the next product is begun by that
        std::string step;             // and what goes on with it
    };

    const TileProduct *product_of(const For *loop, int stage) const {
        for (const auto &p : products_) {
            const std::string prefix = p.func.name() + ".s" + std::to_string(stage < 0 ? p.stage : stage) + ".";
            if (loop->name.compare(0, prefix.size(), prefix) == 0) {
                return &p;
            }
        }
        return nullptr;
    }

    Stmt visit(const Allocate *op) override {
        own_.insert(op->name);
        for (const auto &p : products_) {
            if (p.func.name() == op->name) {
                stored_[op->name] = {loops_,
                                     false,
                                     false,
                                     touched_by_consumer(op->name, op->body, own_),
                                     pairs_a_turn(op->name, op->body),
                                     freed_in(op->body),
                                     {},
                                     ""};
                prefetch_if_large(stored_[op->name].touched.written);
            }
        }
        const Stmt s = IRMutator::visit(op);
        stored_.erase(op->name);
        return s;
    }

    // The arrays that end in a statement.
    static std::set<std::string> freed_in(const Stmt &s) {
        class Find : public IRVisitor {
            using IRVisitor::visit;
            void visit(const Free *op) override {
                names.insert(op->name);
            }

        public:
            std::set<std::string> names;
        } find;
        s.accept(&find);
        return find.names;
    }

    // Lines that are in L2 come soon enough, and each prefetch is in the way of an operand. An output that is large for L2 gains by
    // prefetches.
    void prefetch_if_large(Touched &written) const {
        const auto output = outputs_.find(written.buffer);
        if (written.start.defined() && output != outputs_.end()) {
            const Expr large = buffer_bytes(written.buffer, written.bytes, output->second) > make_const(Int(64), cached_);
            written.rows = select(large, written.rows, 0);
        }
    }

    Stmt visit(const ProducerConsumer *op) override {
        const auto stored = stored_.find(op->name);
        if (op->is_producer && stored != stored_.end()) {
            stored->second.fresh = can_be_fresh(op);
            stored->second.whole = stored->second.fresh && stored->second.loops == loops_;
        }
        const Stmt s = IRMutator::visit(op);
        if (op->is_producer || stored == stored_.end() || !stored->second.begin_next.defined()) {
            return s;
        }
        const Stmt body = s.as<ProducerConsumer>()->body;
        return ProducerConsumer::make_consume(op->name,
                                              Block::make(stored->second.begin_next, step_in_loops(body, ahead_, stored->second.step)));
    }

    // The Funcs that are products in a statement.
    std::set<std::string> multiplied_in(const Stmt &s) const {
        class Find : public IRVisitor {
            using IRVisitor::visit;

            void visit(const For *loop) override {
                if (const TileProduct *p = self->product_of(loop, -1)) {
                    found.insert(p->func.name());
                }
                IRVisitor::visit(loop);
            }

        public:
            const MultiplyInTiles *self = nullptr;
            std::set<std::string> found;
        } find;
        find.self = this;
        s.accept(&find);
        return find.found;
    }

    // Whether what makes the sums 0 may leave: the product makes all of each at once.
    bool can_be_fresh(const ProducerConsumer *op) const {
        class Update : public IRVisitor {
            using IRVisitor::visit;

            void visit(const For *loop) override {
                const bool before = in_zeros_;
                if (self->product_of(loop, 1) == product && product->stage == 1) {
                    found++;
                    at_once = TileNest(loop, product->fail).sums_at_once();
                    return;
                }
                in_zeros_ = before || self->product_of(loop, 0) == product;
                IRVisitor::visit(loop);
                in_zeros_ = before;
            }

            void visit(const Store *store) override {
                alone = alone && (!in_zeros_ || store->name == product->func.name());
                IRVisitor::visit(store);
            }

            bool in_zeros_ = false;

        public:
            const MultiplyInTiles *self = nullptr;
            const TileProduct *product = nullptr;
            int found = 0;
            bool at_once = false, alone = true;  // the loops that make them 0 do nothing else
        } update;
        update.self = this;
        for (const auto &p : products_) {
            if (p.func.name() == op->name && p.func.definition().values().size() == 1 && is_const_zero(p.func.definition().values()[0])) {
                update.product = &p;
            }
        }
        if (update.product) {
            op->body.accept(&update);
        }
        return update.found == 1 && update.at_once && update.alone;
    }

    Stmt visit(const For *op) override {
        const TileProduct *init = product_of(op, 0), *product = product_of(op, -1);
        if (init && stored_.count(init->func.name()) && stored_[init->func.name()].fresh) {
            return Evaluate::make(0);
        }
        if (product) {
            Stored &stored = stored_[product->func.name()];
            called_ = true;
            TileNest nest(op, product->fail);
            if (stored.whole) {
                nest.take_lines();
            }
            if (!in_task_) {
                return configured(nest.call(stored.fresh, stored.touched, task_));
            }
            // What consumes the sums names the operands where it begins the next product.
            const std::set<std::string> operands = nest.operands();
            const bool last =
                std::none_of(operands.begin(), operands.end(), [&](const std::string &o) { return stored.freed.count(o) > 0; });
            const auto ahead = alone_in_task_ && last && stored.whole && stored.pairs > 0
                                   ? nest.ahead(stored.touched, task_, ahead_, stored.pairs)
                                   : std::nullopt;
            if (!ahead || !opens(ahead->name, ahead->shape)) {
                plain_in_task_ = true;
                return nest.call(stored.fresh, stored.touched, task_);
            }
            stored.begin_next = ahead->begin_next;
            stored.step = ahead->name + kMmaStepSuffix;
            return ahead->take;
        }
        loops_++;
        const Stmt s = with_loops_within(op);
        loops_--;
        return s;
    }

    Stmt with_loops_within(const For *op) {
        if (in_task_) {
            task_.around.push_back({op->name, op->min, op->extent, accesses_of(op->body).stored});
            const Stmt s = IRMutator::visit(op);
            task_.around.pop_back();
            return s;
        }
        // While it waits for a loop within, a thread may do something else.
        if (!op->is_parallel() || has_parallel_loop(op->body)) {
            return IRMutator::visit(op);
        }
        called_ = false;
        in_task_ = true;
        alone_in_task_ = multiplied_in(op->body).size() == 1;
        ahead_ = unique_name("mma_ahead");
        task_.writes = accesses_of(op->body).stored;
        plain_in_task_ = false;
        open_ = Stmt();
        Stmt body = mutate(op->body);
        if (alone_in_task_ && plain_in_task_) {  // it would multiply in the tiles of a product that is begun
            alone_in_task_ = false;
            open_ = Stmt();
            body = mutate(op->body);
        }
        if (open_.defined()) {
            body =
                Allocate::make(ahead_, Int(32), MemoryType::Stack, {halyard_mma::kAheadBytes / 4}, const_true(), Block::make(open_, body));
        }
        in_task_ = false;
        task_ = {};
        return called_ ? For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy, op->device_api, configured(body))
                       : Stmt(op);
    }

    Stmt visit(const LetStmt *op) override {
        if (!in_task_) {
            return IRMutator::visit(op);
        }
        task_.around.push_back({op->name, op->value, Expr(), {}});
        const Stmt s = IRMutator::visit(op);
        task_.around.pop_back();
        return s;
    }

    // What it guards in the next turn of a loop may not be there.
    Stmt visit(const IfThenElse *op) override {
        if (!in_task_) {
            return IRMutator::visit(op);
        }
        const auto under = [&](const Expr &condition, const Stmt &s) {
            task_.around.push_back({"", condition, Expr(), {}});
            const Stmt mutated = mutate(s);
            task_.around.pop_back();
            return mutated;
        };
        const Stmt then_case = under(op->condition, op->then_case);
        return IfThenElse::make(op->condition, then_case, op->else_case.defined() ? under(!op->condition, op->else_case) : Stmt());
    }

    // Whether the product of the task has this shape, or is the first.
    bool opens(const std::string &name, const std::vector<Expr> &shape) {
        std::vector<Expr> args = {Variable::make(Handle(), ahead_)};
        args.insert(args.end(), shape.begin(), shape.end());
        const Stmt open = call_of(name + "_open", args);
        if (!open_.defined()) {
            open_ = open;
        }
        return equal(open, open_);
    }

    static Stmt configured(const Stmt &s) {
        return Block::make({call_of("halyard_mma_begin", {}), s, call_of("halyard_mma_end", {})});
    }

    std::vector<TileProduct> products_;
    std::map<std::string, int> outputs_;
    int64_t cached_;
    std::map<std::string, Stored> stored_;
    std::set<std::string> own_;  // what is allocated, not the caller's
    int loops_ = 0;              // around what is visited
    bool in_task_ = false, called_ = false;
    // Of the task: it has one product, the next of which may be begun; one that may not; the memory for it, and what makes it one.
    bool alone_in_task_ = false, plain_in_task_ = false;
    std::string ahead_;
    Stmt open_;
    TileTask task_;
};

}  // namespace

std::unique_ptr<IRMutator> multiply_in_tiles(std::vector<TileProduct> products, std::map<std::string, int> outputs, int64_t cached) {
    return std::make_unique<MultiplyInTiles>(std::move(products), std::move(outputs), cached);
}

}  // namespace halyard
