#include "lowering/guarded_loads.h"

#include <map>
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

class GuardLoads : public IRMutator {
    using IRMutator::visit;

    Stmt visit(const LetStmt *op) override {
        const Stmt body = mutate(op->body);
        const Expr value = op->value.type().is_bool() && op->value.type().is_scalar() ? with_guarded_loads(op->value) : op->value;
        return body.same_as(op->body) && value.same_as(op->value) ? Stmt(op) : LetStmt::make(op->name, value, body);
    }

    Stmt visit(const IfThenElse *op) override {
        const Stmt yes = mutate(op->then_case), no = mutate(op->else_case);
        const Expr condition = with_guarded_loads(op->condition);
        return yes.same_as(op->then_case) && no.same_as(op->else_case) && condition.same_as(op->condition)
                   ? Stmt(op)
                   : IfThenElse::make(condition, yes, no);
    }
};

}  // namespace

Expr with_guarded_loads(const Expr &condition) {
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
        const Expr a = with_guarded_loads(bound(loaded, either->a)), b = with_guarded_loads(bound(loaded, either->b));
        return bound(free, Call::make(Bool(), Call::if_then_else, {a, const_true(), b}, Call::PureIntrinsic));
    }
    std::vector<Expr> terms, guards, guarded;
    conjuncts(body, terms);
    for (const Expr &t : terms) {
        (loads(t) ? guarded : guards).push_back(t);
    }
    if (terms.size() == 1) {
        return condition;
    }
    for (Expr &t : guarded) {
        // Within one term of several the lets stay around all of them, unless the term has guards of its own.
        t = t.as<Or>() ? with_guarded_loads(bound(loaded, t)) : t;
    }
    const Expr rest = bound(loaded, all_of(guarded));
    return bound(free, guards.empty() ? rest
                                      : Call::make(Bool(), Call::if_then_else, {all_of(guards), rest, const_false()}, Call::PureIntrinsic));
}

std::unique_ptr<IRMutator> guard_loads_of_conditions() {
    return std::make_unique<GuardLoads>();
}

}  // namespace halyard
