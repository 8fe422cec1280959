#include "lowering/cuda/simt/barriers.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "lowering/cuda/simt/register_tiles.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

using Fail = std::function<void(const std::string &, const std::string &)>;

// Which values may differ between the threads of a block. What is loaded from shared or device memory at a place that is the
// same for all is the same; what a register has is known when all stores are.
class DiffersByThread : public IRVisitor {
public:
    explicit DiffersByThread(const Kernel &kernel) : kernel_(kernel) {
        for (int d = 0; d < 3; d++) {
            if (kernel.constant_threads(d) != 1) {
                varying_.push(kThreadNames[d], true);
            }
        }
    }

    // Until nothing more is known: a register stored in one turn of a loop is read in the next.
    void read(const Stmt &body) {
        size_t known = 0;
        do {
            known = registers_.size();
            body.accept(this);
        } while (registers_.size() > known);
    }

protected:
    using IRVisitor::visit;

    bool differs(const Expr &e) {
        ScopedValue<bool> outer(found_, false);
        e.accept(this);
        return found_;
    }

    void visit(const Variable *op) override {
        found_ = found_ || (varying_.contains(op->name) && varying_.get(op->name));
    }

    void visit(const Load *op) override {
        found_ = found_ || registers_.count(op->name) > 0;
        IRVisitor::visit(op);
    }

    void visit(const Call *op) override {
        if (op->name == kReduceThreads) {
            found_ = found_ || !of_whole_block(op);
            return;
        }
        IRVisitor::visit(op);
    }

    bool of_whole_block(const Call *reduction) const {
        const auto lanes = as_const_int(reduction->args[1]);
        return lanes && *lanes == kernel_.constant_threads(0) && kernel_.constant_threads(1) == 1 && kernel_.constant_threads(2) == 1;
    }

    void visit(const Let *op) override {
        const ScopedBinding<bool> bind(varying_, op->name, differs(op->value));
        op->body.accept(this);
    }

    void visit(const LetStmt *op) override {
        op->value.accept(this);
        const ScopedBinding<bool> bind(varying_, op->name, differs(op->value));
        op->body.accept(this);
    }

    void visit(const Allocate *op) override {
        if (op->memory_type != MemoryType::GPUShared) {
            allocated_.insert(op->name);
        }
        IRVisitor::visit(op);
    }

    void visit(const Store *op) override {
        if (allocated_.count(op->name) && (apart() || differs(op->value) || differs(op->index) || differs(op->predicate))) {
            registers_.insert(op->name);
        }
        IRVisitor::visit(op);
    }

    void visit(const For *op) override {
        const ScopedBinding<bool> bind(varying_, op->name, differs(op->min));
        const bool own = differs(op->min) || differs(op->extent);
        if (own) {
            around_.push_back({op, nullptr});
        }
        op->body.accept(this);
        if (own) {
            around_.pop_back();
        }
    }

    void visit(const IfThenElse *op) override {
        op->condition.accept(this);
        const bool own = differs(op->condition);
        if (own) {
            around_.push_back({nullptr, op});
        }
        op->then_case.accept(this);
        if (op->else_case.defined()) {
            op->else_case.accept(this);
        }
        if (own) {
            around_.pop_back();
        }
    }

    // Threads are in different turns of a loop, or some of them not here at all.
    bool apart() const {
        return !around_.empty();
    }

    struct Around {
        const For *loop;
        const IfThenElse *condition;
    };
    std::vector<Around> around_;

private:
    const Kernel &kernel_;
    Scope<bool> varying_;
    std::set<std::string> allocated_, registers_;  // registers_: those whose values differ
    bool found_ = false;
};

// FUNC.s0.LOOP, or FUNC.s0.DIMENSION.LOOP.
std::string func_of(const std::string &loop) {
    return loop.substr(0, loop.find('.'));
}

// Without what Halide adds to make names unique.
std::string plain_loop(const std::string &name) {
    const std::string end = name.substr(name.rfind('.') + 1);
    return end.substr(0, end.find('$'));
}

class CheckBarriers : public DiffersByThread {
public:
    CheckBarriers(const Kernel &kernel, const Fail &fail) : DiffersByThread(kernel), fail_(fail) {
        read(kernel.body);
        checks_ = true;
        kernel.body.accept(this);
    }

private:
    using DiffersByThread::visit;

    void visit(const ProducerConsumer *op) override {
        ScopedValue<std::string> outer(func_, op->is_producer ? op->name : func_);
        DiffersByThread::visit(op);
    }

    void visit(const Call *op) override {
        // Shuffles are of whole warps, and of more than a warp there is a barrier between two of them.
        if (checks_ && apart() && (op->is_intrinsic(Call::gpu_thread_barrier) || op->name == kReduceThreads)) {
            refuse();
        }
        DiffersByThread::visit(op);
    }

    void refuse() const {
        const Around &a = around_.front();
        std::ostringstream s;
        s << "has the threads of a block wait for each other ";
        if (a.loop) {
            s << "in the loop " << plain_loop(a.loop->name)
              << ", whose bounds depend on the thread: a device would hang. Say never_partition for that loop, or have it end "
                 "alike in all threads, by a split that guards or rounds up";
            fail_(func_of(a.loop->name), s.str());
        } else {
            s << "under a condition that depends on the thread (" << a.condition->condition
              << "): a device would hang. Compute what they wait for outside of it, or keep it in registers";
            fail_(func_, s.str());
        }
    }

    const Fail &fail_;
    std::string func_;
    bool checks_ = false;
};

void keep_whole(Definition &stage, bool others_inside) {
    auto &dims = stage.schedule().dims();  // from the innermost outwards
    const auto outermost_thread = std::find_if(
        dims.rbegin(), dims.rend(), [](const Dim &d) { return d.for_type == ForType::GPUThread || d.for_type == ForType::GPULane; });
    const bool threads = outermost_thread != dims.rend();
    for (auto d = threads ? outermost_thread.base() : dims.begin(); d != dims.end() && (threads || others_inside); ++d) {
        if (d->for_type == ForType::Serial && d->partition_policy == Partition::Auto) {
            d->partition_policy = Partition::Never;
        }
    }
    for (auto &s : stage.specializations()) {
        keep_whole(s.definition, others_inside);
    }
}

}  // namespace

void check_barriers(const Kernel &kernel, const Fail &fail) {
    CheckBarriers(kernel, fail);
}

void keep_waiting_loops_whole(const std::vector<Function> &funcs) {
    std::set<std::string> with_others_inside;
    for (const auto &f : funcs) {
        for (LoopLevel level : {f.schedule().compute_level(), f.schedule().store_level()}) {
            if (level.lock().defined() && !level.is_inlined() && !level.is_root()) {
                with_others_inside.insert(level.func());
            }
        }
    }
    for (Function f : funcs) {
        if (f.has_pure_definition()) {
            keep_whole(f.definition(), with_others_inside.count(f.name()) > 0);
        }
        for (size_t i = 0; i < f.updates().size(); i++) {
            keep_whole(f.update(int(i)), with_others_inside.count(f.name()) > 0);
        }
    }
}

}  // namespace halyard
