#include "coordinates.h"

#include <algorithm>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

struct Product {
    int64_t factor = 1;
    std::vector<Expr> atoms;
};

using Polynomial = std::vector<Product>;

Polynomial times(const Polynomial &a, const Polynomial &b) {
    Polynomial all;
    for (const auto &p : a) {
        for (const auto &q : b) {
            Product r = p;
            r.factor *= q.factor;
            r.atoms.insert(r.atoms.end(), q.atoms.begin(), q.atoms.end());
            all.push_back(r);
        }
    }
    return all;
}

Polynomial multiplied_out(const Expr &e) {
    if (const auto c = as_const_int(e)) {
        return {{*c, {}}};
    }
    if (const auto *add = e.as<Add>()) {
        Polynomial a = multiplied_out(add->a);
        const Polynomial b = multiplied_out(add->b);
        a.insert(a.end(), b.begin(), b.end());
        return a;
    }
    if (const auto *sub = e.as<Sub>()) {
        Polynomial a = multiplied_out(sub->a);
        for (auto p : multiplied_out(sub->b)) {
            p.factor = -p.factor;
            a.push_back(p);
        }
        return a;
    }
    if (const auto *mul = e.as<Mul>()) {
        return times(multiplied_out(mul->a), multiplied_out(mul->b));
    }
    return {{1, {e}}};
}

// The dimension of which an expression is the stride, 0 for another expression.
int strided_dimension(const Expr &e, const std::string &buffer, const std::vector<Expr> &strides) {
    for (size_t d = 1; d < strides.size(); d++) {
        if (equal(e, strides[d])) {
            return int(d);
        }
    }
    const auto *v = e.as<Variable>();
    const std::string stride = buffer + ".stride.";
    return v && v->name.compare(0, stride.size(), stride) == 0 ? std::stoi(v->name.substr(stride.size())) : 0;
}

class DropClamps : public IRMutator {
    using IRMutator::visit;

    bool varies(const Expr &e) const {
        return std::any_of(loops.begin(), loops.end(), [&](const std::string &l) { return expr_uses_var(e, l); });
    }

    template<typename Op>
    Expr drop(const Op *op) {
        const bool a = varies(op->a), b = varies(op->b);
        return a != b ? mutate(a ? op->a : op->b) : IRMutator::visit(op);
    }

    Expr visit(const Min *op) override {
        return drop(op);
    }
    Expr visit(const Max *op) override {
        return drop(op);
    }

    const std::vector<std::string> &loops;

public:
    explicit DropClamps(const std::vector<std::string> &loops)
        : loops(loops) {
    }
};

}  // namespace

int rank_of(const std::set<std::string> &variables, const std::string &buffer) {
    int rank = 1;
    for (const auto &name : variables) {
        rank = std::max(rank, strided_dimension(Variable::make(Int(32), name), buffer, {}) + 1);
    }
    return rank;
}

std::optional<std::vector<Expr>> coordinates(const Expr &index, const std::string &buffer, int dimensions,
                                             const std::vector<Expr> &strides) {
    std::vector<Expr> all(size_t(dimensions), Expr(0));
    for (const auto &term : multiplied_out(index)) {
        int dimension = 0;
        Expr rest = make_const(Int(32), term.factor);
        for (const auto &atom : term.atoms) {
            if (const int d = strided_dimension(atom, buffer, strides)) {
                if (dimension != 0) {
                    return std::nullopt;
                }
                dimension = d;
            } else {
                rest *= atom;
            }
        }
        if (dimension >= dimensions) {
            return std::nullopt;
        }
        all[size_t(dimension)] += rest;
    }
    for (auto &e : all) {
        e = simplify(e);
    }
    return all;
}

Expr without_clamps(const Expr &e, const std::vector<std::string> &loops) {
    return DropClamps(loops).mutate(e);
}

}  // namespace halyard
