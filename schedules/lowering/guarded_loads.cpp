#include "lowering/guarded_loads.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lowering/depends_on_data.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

using Bindings = std::vector<std::pair<std::string, Expr>>;

Expr bound(const Bindings &lets, Expr body) {
    for (auto l = lets.rbegin(); l != lets.rend(); l++) {
        if (expr_uses_var(body, l->first)) {
            body = Let::make(l->first, l->second, body);
        }
    }
    return body;
}

// What && joins, in its order.
void conjuncts(const Expr &e, std::vector<Expr> &found) {
    if (const And *both = e.as<And>()) {
        conjuncts(both->a, found);
        conjuncts(both->b, found);
    } else {
        found.push_back(e);
    }
}

Expr all_of(const std::vector<Expr> &terms) {
    Expr all = terms.empty() ? const_true() : terms[0];
    for (size_t i = 1; i < terms.size(); i++) {
        all = And::make(all, terms[i]);
    }
    return all;
}

// The variables that say which element a load reads.
class Indices : public IRGraphVisitor {
    using IRGraphVisitor::visit;

    void visit(const Load *op) override {
        ScopedValue<bool> inside(in_index_, true);
        op->index.accept(this);
    }
    void visit(const Variable *op) override {
        if (in_index_) {
            variables.push(op->name);
        }
    }

    bool in_index_ = false;

public:
    Scope<> variables;
};

class GuardLoads : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const LetStmt *op) override {
        const Stmt body = mutate(op->body);
        const Expr value = says_whether_needed(op->name) ? with_guarded_loads(op->value, on_device_) : op->value;
        return body.same_as(op->body) && value.same_as(op->value) ? Stmt(op) : LetStmt::make(op->name, value, body);
    }

    Stmt visit(const For *op) override {
        ScopedValue<bool> inside(on_device_, on_device_ || op->for_type == ForType::GPUBlock);
        return IRMutator::visit(op);
    }

    // In a kernel && is that of C++, and products are recognised by the conditions of their steps.
    Stmt visit(const IfThenElse *op) override {
        if (on_device_) {
            return IRMutator::visit(op);
        }
        const Stmt yes = mutate(op->then_case), no = mutate(op->else_case);
        const Expr condition = with_guarded_loads(op->condition, false);
        return yes.same_as(op->then_case) && no.same_as(op->else_case) && condition.same_as(op->condition)
                   ? Stmt(op)
                   : IfThenElse::make(condition, yes, no);
    }

    // `f.used` and `f.loaded`, which Halide may number.
    static bool says_whether_needed(const std::string &name) {
        return name.find(".used") != std::string::npos || name.find(".loaded") != std::string::npos;
    }

    bool on_device_ = false;
};

}  // namespace

Expr with_guarded_loads(const Expr &condition, bool short_circuit) {
    if (!depends_on_data(condition)) {
        return condition;
    }
    Bindings free, loaded;
    Scope<> of_data;
    const auto loads = [&](const Expr &e) { return depends_on_data(e) || expr_uses_vars(e, of_data); };
    Expr body = condition;
    while (const Let *let = body.as<Let>()) {
        (loads(let->value) ? loaded : free).emplace_back(let->name, let->value);
        if (loads(let->value)) {
            of_data.push(let->name);
        }
        body = let->body;
    }
    if (const Or *either = body.as<Or>()) {
        // Each side has its own guard, so each has its own loads.
        const Expr a = bound(loaded, either->a), b = bound(loaded, either->b);
        const Expr guarded_a = with_guarded_loads(a, short_circuit), guarded_b = with_guarded_loads(b, short_circuit);
        if (guarded_a.same_as(a) && guarded_b.same_as(b)) {
            return condition;
        }
        return bound(free, Call::make(Bool(), Call::if_then_else, {guarded_a, const_true(), guarded_b}, Call::PureIntrinsic));
    }
    std::vector<Expr> terms, guards, guarded;
    conjuncts(body, terms);
    for (const Expr &t : terms) {
        (loads(t) ? guarded : guards).push_back(t);
    }
    Indices of;
    condition.accept(&of);
    if (terms.size() == 1 || std::none_of(guards.begin(), guards.end(), [&](const Expr &g) { return expr_uses_vars(g, of.variables); })) {
        return condition;  // no guard is about what is loaded
    }
    for (Expr &t : guarded) {
        t = t.as<Or>() ? with_guarded_loads(bound(loaded, t), short_circuit) : t;
    }
    const Expr rest = bound(loaded, all_of(guarded));
    // A let goes to the front of a whole && in C++.
    const bool as_and = short_circuit && loaded.empty();
    return bound(free, as_and ? all_of(guards) && rest
                              : Call::make(Bool(), Call::if_then_else, {all_of(guards), rest, const_false()}, Call::PureIntrinsic));
}

std::unique_ptr<IRMutator> guard_loads_of_conditions() {
    return std::make_unique<GuardLoads>();
}

}  // namespace halyard
