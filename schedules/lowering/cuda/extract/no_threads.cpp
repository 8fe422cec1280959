#include "lowering/cuda/extract/no_threads.h"

#include <algorithm>
#include <map>
#include <set>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

using Dimensions = std::set<int>;

// Which threads conditions let in, of which some have names.
class Conditions : public IRVisitor {
    using IRVisitor::visit;

    void visit(const LetStmt *op) override {
        if (op->value.type().is_bool()) {
            named_[op->name] = of_one_thread(op->value);
        }
        IRVisitor::visit(op);
    }

    // Of what is below 1 where no coordinate is above 0: thread_x, or max(thread_x, thread_y).
    static Dimensions coordinates(const Expr &e) {
        if (const auto *larger = e.as<Max>()) {
            return both(coordinates(larger->a), coordinates(larger->b));
        }
        const auto *thread = e.as<Variable>();
        for (int d = 0; thread && d < 3; d++) {
            if (thread->name == kThreadNames[size_t(d)]) {
                return {d};
            }
        }
        return {};
    }

    static Dimensions both(Dimensions a, Dimensions b) {
        a.merge(b);
        return a;
    }

    std::map<std::string, Dimensions> named_;

public:
    explicit Conditions(const Stmt &s) {
        s.accept(this);
    }

    /** The dimensions along which a condition lets one thread in: thread_x < 1. */
    Dimensions of_one_thread(const Expr &condition) const {
        if (const auto *all = condition.as<And>()) {
            return both(of_one_thread(all->a), of_one_thread(all->b));
        }
        if (const auto *name = condition.as<Variable>()) {
            const auto it = named_.find(name->name);
            return it == named_.end() ? Dimensions() : it->second;
        }
        const auto *less = condition.as<LT>();
        const auto *equal = condition.as<EQ>();
        return less && is_const_one(less->b)      ? coordinates(less->a)
               : equal && is_const_zero(equal->b) ? coordinates(equal->a)
                                                  : Dimensions();
    }
};

// What a statement has in it: barriers, which all threads reach, and nests of one thread.
class Contents : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Call *op) override {
        barrier = barrier || op->is_intrinsic(Call::gpu_thread_barrier);
        IRVisitor::visit(op);
    }

    void visit(const IfThenElse *op) override {
        alone.merge(conditions_.of_one_thread(op->condition));
        IRVisitor::visit(op);
    }

    const Conditions &conditions_;

public:
    Contents(const Stmt &s, const Conditions &conditions) : conditions_(conditions) {
        s.accept(this);
    }
    bool barrier = false;
    Dimensions alone;
};

class KeepOut : public IRMutator {
    using IRMutator::visit;

public:
    KeepOut(const std::array<Expr, 3> &threads, const Conditions &conditions, Dimensions dimensions)
        : threads_(threads), conditions_(conditions), dimensions_(std::move(dimensions)) {}

    Stmt mutate(const Stmt &s) override {
        if (!s.defined() || dimensions_.empty()) {
            return s;
        }
        if (is_cut(Contents(s, conditions_))) {
            return IRMutator::mutate(s);
        }
        Expr there = const_true();
        for (const int d : dimensions_) {
            there = there && Variable::make(Int(32), kThreadNames[size_t(d)]) < threads_[size_t(d)];
        }
        return IfThenElse::make(there, s);
    }

    using IRMutator::mutate;

private:
    // Whether threads that have nothing to do in a part of it have to be there for another one.
    bool is_cut(const Contents &contents) const {
        return contents.barrier || std::any_of(dimensions_.begin(), dimensions_.end(), [&](int d) { return contents.alone.count(d) > 0; });
    }

    // What is for one thread along a dimension is for that one.
    Stmt visit(const IfThenElse *op) override {
        const Dimensions outside = dimensions_;
        for (const int d : conditions_.of_one_thread(op->condition)) {
            dimensions_.erase(d);
        }
        const Stmt then = mutate(op->then_case);
        dimensions_ = outside;
        return IfThenElse::make(op->condition, then, mutate(op->else_case));
    }

    Stmt visit(const Evaluate *op) override {
        return op;
    }

    const std::array<Expr, 3> &threads_;
    const Conditions &conditions_;
    Dimensions dimensions_;
};

}  // namespace

std::vector<Expr> keep_one_thread(Kernel &kernel) {
    const Conditions conditions(kernel.body);
    const Contents contents(kernel.body, conditions);
    Dimensions unknown;
    for (const int d : contents.alone) {
        if (kernel.constant_threads(d) == 0 && !is_const_zero(kernel.threads[size_t(d)])) {
            unknown.insert(d);
        }
    }
    kernel.body = KeepOut(kernel.threads, conditions, unknown).mutate(kernel.body);
    std::vector<Expr> compared;
    for (const int d : unknown) {
        compared.push_back(kernel.threads[size_t(d)]);
        kernel.threads[size_t(d)] = max(compared.back(), 1);
    }
    return compared;
}

}  // namespace halyard
