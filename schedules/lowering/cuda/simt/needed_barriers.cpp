#include "lowering/cuda/simt/needed_barriers.h"

#include <set>
#include <string>

#include "lowering/accesses.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Two stores of the same element have a load between them, or the first was for nothing.
bool ordered_by_barrier(const Accesses &first, const Accesses &then) {
    return meet(first.stored, then.loaded) || meet(first.loaded, then.stored);
}

const Call *barrier_in(const Stmt &s) {
    const auto *evaluate = s.as<Evaluate>();
    const auto *call = evaluate ? evaluate->value.as<Call>() : nullptr;
    return call && call->is_intrinsic(Call::gpu_thread_barrier) ? call : nullptr;
}

class FindOwn : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Allocate *op) override {
        if (op->memory_type != MemoryType::GPUShared) {
            names.insert(op->name);
        }
        IRVisitor::visit(op);
    }

public:
    std::set<std::string> names;  // of arrays that are a thread's own, or are shared out among the threads
};

// What is accessed up to the first barrier.
class Ahead : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Load *op) override {
        if (!closed && !own.count(op->name)) {
            found.loaded.insert(array_of(op->name));
        }
        IRVisitor::visit(op);
    }
    void visit(const Store *op) override {
        if (!closed && !own.count(op->name)) {
            found.stored.insert(array_of(op->name));
        }
        IRVisitor::visit(op);
    }
    void visit(const Evaluate *op) override {
        closed = closed || barrier_in(op);
        IRVisitor::visit(op);
    }
    // Which may not be run.
    void visit(const For *op) override {
        ScopedValue<bool> as_before(closed, closed);
        IRVisitor::visit(op);
    }
    void visit(const IfThenElse *op) override {
        op->condition.accept(this);
        for (const Stmt &s : {op->then_case, op->else_case}) {
            ScopedValue<bool> as_before(closed, closed);
            if (s.defined()) {
                s.accept(this);
            }
        }
    }

    const std::set<std::string> &own;

public:
    explicit Ahead(const std::set<std::string> &own) : own(own) {}
    Accesses found;
    bool closed = false;
};

class KeepNeeded : public IRMutator {
public:
    explicit KeepNeeded(const std::set<std::string> &own) : own_(own) {}

private:
    using IRMutator::visit;

    Accesses ahead_of(const Stmt &s, const Accesses &behind) const {
        Ahead ahead(own_);
        s.accept(&ahead);
        if (!ahead.closed) {
            ahead.found.add(behind);
        }
        return ahead.found;
    }

    Stmt visit(const Block *op) override {
        const Accesses behind = next_;
        next_ = ahead_of(op->rest, behind);
        const Stmt first = mutate(op->first);
        next_ = behind;
        return Block::make(first, mutate(op->rest));
    }

    Stmt visit(const For *op) override {
        op->min.accept(&reads_);
        op->extent.accept(&reads_);
        const Accesses behind = next_, entered = since_;
        next_ = ahead_of(op->body, behind);
        next_.add(behind);
        mutate(op->body);
        since_.add(entered);  // of the turn before
        const Stmt body = mutate(op->body);
        since_.add(entered);
        next_ = behind;
        return For::make(op->name, op->min, op->extent, op->for_type, op->partition_policy, op->device_api, body);
    }

    Stmt visit(const IfThenElse *op) override {
        op->condition.accept(&reads_);
        const Accesses entered = since_;
        const Stmt then_case = mutate(op->then_case);
        const Accesses after_then = since_;
        since_ = entered;
        const Stmt else_case = op->else_case.defined() ? mutate(op->else_case) : Stmt();
        since_.add(after_then);
        return IfThenElse::make(op->condition, then_case, else_case);
    }

    Stmt visit(const LetStmt *op) override {
        op->value.accept(&reads_);
        return LetStmt::make(op->name, op->value, mutate(op->body));
    }

    Stmt visit(const Store *op) override {
        op->value.accept(&reads_);
        op->index.accept(&reads_);
        op->predicate.accept(&reads_);
        if (!own_.count(op->name)) {
            since_.stored.insert(array_of(op->name));
        }
        return op;
    }

    Stmt visit(const Evaluate *op) override {
        const Call *barrier = barrier_in(op);
        if (!barrier) {
            op->value.accept(&reads_);
            return op;
        }
        const bool ordered = !is_const_zero(barrier->args[0]);
        if (!ordered && !ordered_by_barrier(since_, next_)) {
            return Evaluate::make(0);
        }
        since_ = {};
        return ordered ? Stmt(op)
                       : Evaluate::make(Call::make(Int(32), Call::gpu_thread_barrier, {int(CodeGen_GPU_Dev::MemoryFenceType::Shared)},
                                                   Call::Intrinsic));
    }

    class Reads : public IRVisitor {
        using IRVisitor::visit;
        void visit(const Load *op) override {
            if (!keep.own_.count(op->name)) {
                keep.since_.loaded.insert(array_of(op->name));
            }
            IRVisitor::visit(op);
        }

    public:
        explicit Reads(KeepNeeded &keep) : keep(keep) {}
        KeepNeeded &keep;
    };

    const std::set<std::string> &own_;
    Accesses since_, next_;  // the last barrier that is kept; up to the next one that is there
    Reads reads_{*this};
};

}  // namespace

Stmt keep_needed_barriers(const Stmt &body) {
    FindOwn own;
    body.accept(&own);
    return KeepNeeded(own.names).mutate(body);
}

}  // namespace halyard
