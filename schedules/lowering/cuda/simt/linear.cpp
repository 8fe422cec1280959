#include "lowering/cuda/simt/linear.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class Expand : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Variable *op) override {
        if (const Expr *value = lets.find(op->name)) {
            return mutate(*value);
        }
        return op;
    }

    const Lets &lets;

public:
    explicit Expand(const Lets &lets) : lets(lets) {}
};

class Collapse : public IRMutator {
    std::vector<std::pair<Expr, Expr>> named;  // values, variables

public:
    using IRMutator::mutate;

    explicit Collapse(const Lets &lets) {
        for (auto it = lets.cbegin(); it != lets.cend(); ++it) {
            const Expr value = simplify(expand(it.value(), lets));
            const bool is_name = value.as<Variable>() || is_const(value);
            if (value.type() == Int(32) && !is_name) {
                named.emplace_back(value, Variable::make(Int(32), it.name()));
            }
        }
    }
    Expr mutate(const Expr &e) override {
        for (const auto &n : named) {
            if (equal(e, n.first)) {
                return n.second;
            }
        }
        return IRMutator::mutate(e);
    }
};

void add_term(Linear &sum, const Expr &atom, int64_t factor) {
    for (auto &t : sum.terms) {
        if (equal(t.atom, atom)) {
            t.factor += factor;
            return;
        }
    }
    sum.terms.push_back({atom, factor});
}

void add_to(Linear &sum, const Expr &e, int64_t factor) {
    if (const auto c = as_const_int(e)) {
        sum.constant += factor * *c;
    } else if (const auto *add = e.as<Add>()) {
        add_to(sum, add->a, factor);
        add_to(sum, add->b, factor);
    } else if (const auto *sub = e.as<Sub>()) {
        add_to(sum, sub->a, factor);
        add_to(sum, sub->b, -factor);
    } else if (const auto *mul = e.as<Mul>()) {
        const auto a = as_const_int(mul->a), b = as_const_int(mul->b);
        if (a || b) {
            add_to(sum, a ? mul->b : mul->a, factor * (a ? *a : *b));
        } else {
            add_term(sum, e, factor);
        }
    } else {
        add_term(sum, e, factor);
    }
}

}  // namespace

int64_t Linear::factor_of(const std::string &variable) const {
    for (const auto &t : terms) {
        const auto *v = t.atom.as<Variable>();
        if (v && v->name == variable) {
            return t.factor;
        }
    }
    return 0;
}

bool Linear::hides(const std::string &variable) const {
    for (const auto &t : terms) {
        if (!t.atom.as<Variable>() && expr_uses_var(t.atom, variable)) {
            return true;
        }
    }
    return false;
}

Expr Linear::expr() const {
    Expr e = make_const(Int(32), constant);
    for (const auto &t : terms) {
        e += t.atom * make_const(t.atom.type(), t.factor);
    }
    return simplify(e);
}

Expr expand(const Expr &e, const Lets &lets) {
    return Expand(lets).mutate(e);
}

Expr collapse(const Expr &e, const Lets &lets) {
    return Collapse(lets).mutate(e);
}

Linear linear(const Expr &e) {
    Linear sum;
    add_to(sum, simplify(e), 1);
    std::vector<Linear::Term> kept;
    for (const auto &t : sum.terms) {
        if (t.factor != 0) {
            kept.push_back(t);
        }
    }
    sum.terms = kept;
    return sum;
}

}  // namespace halyard
