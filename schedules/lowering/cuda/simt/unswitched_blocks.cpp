#include "lowering/cuda/simt/unswitched_blocks.h"

#include <algorithm>

#include "lowering/cuda/simt/linear.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class FindLoad : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Load *) override {
        found = true;
    }

public:
    bool found = false;
};

// Arrays in shared memory have one place each, which two versions would both declare.
class FindShared : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Allocate *op) override {
        found = found || op->memory_type != MemoryType::Register;
        IRVisitor::visit(op);
    }

public:
    bool found = false;
};

bool has_load(const Expr &e) {
    FindLoad find;
    e.accept(&find);
    return find.found;
}

using Values = std::vector<std::pair<std::string, Expr>>;  // of lets around

// Loops and lets around what is visited.
class InContext : public IRMutator {
protected:
    using IRMutator::visit;

    Stmt visit(const LetStmt *op) override {
        const Expr value = mutate(op->value);
        ScopedBinding<Expr> bind(lets, op->name, op->value);
        return LetStmt::make(op->name, value, mutate(op->body));
    }

    Expr visit(const Let *op) override {
        const Expr value = mutate(op->value);
        ScopedBinding<Expr> bind(lets, op->name, op->value);
        return Let::make(op->name, value, mutate(op->body));
    }

    Stmt visit(const For *op) override {
        const Expr last = expand(op->min + op->extent - 1, lets);
        const Interval range(bounds_of_expr_in_scope(expand(op->min, lets), varying).min, bounds_of_expr_in_scope(last, varying).max);
        ScopedBinding<Interval> bind(varying, op->name, range);
        return IRMutator::visit(op);
    }

    Expr visit(const LE *op) override {
        return op->a.type() == Int(32) ? comparison(op, op->a, op->b, 0) : IRMutator::visit(op);
    }
    Expr visit(const LT *op) override {
        return op->a.type() == Int(32) ? comparison(op, op->a, op->b, 1) : IRMutator::visit(op);
    }

    // Of b - a >= least; `e` or what stands in its place.
    Expr comparison(const Expr &e, const Expr &a, const Expr &b, int least) {
        const Expr left = expand(b - a, lets);
        const Linear over = linear(left);
        bool by_thread = false, guard = true;
        for (const char *thread : kThreadNames) {
            const int64_t factor = over.factor_of(thread);
            const bool inside = over.hides(thread);  // of a quotient, as where loops are fused
            if ((factor != 0 || inside) && !varying.contains(thread)) {
                return e;
            }
            guard = guard && factor <= 0;
            by_thread = by_thread || factor != 0 || inside;
        }
        if (!by_thread) {
            return e;
        }
        const Interval range = has_load(left) ? Interval::everything() : bounds_of_expr_in_scope(left, varying);
        if (guard && range.has_lower_bound()) {
            return holds(e, range.min - least, true);
        }
        // The other way round: extent < thread_x * 8 + 8.
        return !guard && range.has_upper_bound() ? holds(e, least - 1 - range.max, false) : e;
    }

    // A comparison that comes out as `value` wherever `at_least_zero`, which is the same in all threads, is none below 0.
    virtual Expr holds(const Expr &e, const Expr &at_least_zero, bool value) = 0;

    Lets lets;
    Scope<Interval> varying;  // threads and loops

public:
    InContext(const Kernel &kernel, const Values &outer) {
        for (const auto &l : outer) {
            lets.push(l.first, l.second);
        }
        for (int d = 0; d < 3; d++) {
            if (const int threads = kernel.constant_threads(d)) {
                varying.push(kThreadNames[size_t(d)], Interval(0, threads - 1));
            }
        }
    }
};

// What has to be none below 0; of those that differ by a constant, the least.
class FindConditions : public InContext {
    Expr holds(const Expr &e, const Expr &at_least_zero, bool) override {
        const Expr needed = simplify(at_least_zero);
        const auto known = std::find_if(all.begin(), all.end(), [&](const Expr &a) { return is_const(simplify(a - needed)); });
        if (can_prove(needed < 0)) {
            return e;
        }
        if (known == all.end()) {
            all.push_back(needed);
        } else if (can_prove(needed < *known)) {
            *known = needed;
        }
        return e;
    }

public:
    using InContext::InContext;
    std::vector<Expr> all;
};

// Where all conditions hold, of which clamps may be some: min(x, last) is x.
class WithoutConditions : public InContext {
    using InContext::visit;

    Expr holds(const Expr &e, const Expr &at_least_zero, bool value) override {
        return can_prove(simplify(at_least_zero) < 0) || (of_clamp_ && !is_known(at_least_zero)) ? e : make_bool(value);
    }

    Expr visit(const Min *op) override {
        ScopedValue<bool> of_clamp(of_clamp_, true);
        for (const auto &[x, last] : {std::pair(op->a, op->b), std::pair(op->b, op->a)}) {
            if (x.type() == Int(32) && is_const_one(comparison(const_false(), x, last, 0))) {
                return InContext::mutate(x);
            }
        }
        of_clamp_ = false;
        return InContext::visit(op);
    }

    bool is_known(const Expr &at_least_zero) const {
        return std::any_of(all_.begin(), all_.end(), [&](const Expr &known) { return can_prove(simplify(at_least_zero - known) >= 0); });
    }

    const std::vector<Expr> &all_;
    bool of_clamp_ = false;

public:
    WithoutConditions(const Kernel &kernel, const Values &outer, const std::vector<Expr> &all) : InContext(kernel, outer), all_(all) {}
};

// What has to be none below 0 for a version without conditions; none where arrays in shared memory would be declared twice.
std::vector<Expr> needed_in(const Stmt &s, const Kernel &kernel, const Values &lets) {
    FindShared shared;
    s.accept(&shared);
    if (shared.found) {
        return {};
    }
    FindConditions find(kernel, lets);
    find.mutate(s);
    return find.all;
}

Expr none_below_zero(const std::vector<Expr> &needed) {
    Expr all = const_true();
    for (const auto &n : needed) {
        all = all && n >= 0;
    }
    return simplify(all);
}

Stmt without_conditions(const Stmt &s, const Kernel &kernel, const Values &lets, const std::vector<Expr> &needed) {
    return simplify(WithoutConditions(kernel, lets, needed).mutate(s));
}

// A block that has rows or columns too many may still have all turns of a loop, and asks once for each.
class LoopsWithoutConditions : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const LetStmt *op) override {
        lets_.emplace_back(op->name, op->value);
        const Stmt body = mutate(op->body);
        lets_.pop_back();
        return LetStmt::make(op->name, op->value, body);
    }

    Stmt visit(const For *op) override {
        const std::vector<Expr> needed = needed_in(op, kernel_, lets_);
        const Expr all = none_below_zero(needed);
        if (needed.empty() || needed.size() == of_block_ || is_const(all)) {
            return op;
        }
        return IfThenElse::make(all, without_conditions(op, kernel_, lets_, needed), op);
    }

    const Kernel &kernel_;
    Values lets_;
    const size_t of_block_;

public:
    LoopsWithoutConditions(const Kernel &kernel, const Values &lets, size_t of_block) : kernel_(kernel), lets_(lets), of_block_(of_block) {}
};

}  // namespace

void unswitch_blocks(Kernel &kernel) {
    // The coordinates of the block stand before everything, and then arrays in shared memory, which both versions have.
    Values outer;
    std::vector<Stmt> around;
    Stmt inner = kernel.body;
    for (;;) {
        const auto *let = inner.as<LetStmt>();
        const auto *allocate = inner.as<Allocate>();
        if (let && !has_load(let->value)) {
            outer.emplace_back(let->name, let->value);
        } else if (!allocate || allocate->memory_type == MemoryType::Register) {
            break;
        }
        around.push_back(inner);
        inner = let ? let->body : allocate->body;
    }
    const std::vector<Expr> needed = needed_in(inner, kernel, outer);
    const Expr all = none_below_zero(needed);
    if (needed.empty() || is_const_zero(all)) {
        return;
    }
    Stmt body = without_conditions(inner, kernel, outer, needed);
    if (!is_const_one(all)) {
        body = IfThenElse::make(all, body, LoopsWithoutConditions(kernel, outer, needed.size()).mutate(inner));
    }
    for (auto it = around.rbegin(); it != around.rend(); ++it) {
        const auto *let = it->as<LetStmt>();
        const auto *a = it->as<Allocate>();
        body = let ? LetStmt::make(let->name, let->value, body)
                   : Allocate::make(a->name, a->type, a->memory_type, a->extents, a->condition, body, a->new_expr, a->free_function,
                                    a->padding);
    }
    kernel.body = body;
}

}  // namespace halyard
