#include "lowering/cuda/tensor_cores/coordinates.h"

#include <algorithm>
#include <array>

#include "lowering/cuda/tensor_cores/polynomial.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// The dimension of which an expression is the stride, 0 for another expression.
int strided_dimension(const Expr &e, const std::string &buffer) {
    const auto *v = e.as<Variable>();
    const std::string stride = buffer + ".stride.";
    return v && v->name.compare(0, stride.size(), stride) == 0 ? std::stoi(v->name.substr(stride.size())) : 0;
}

bool has_stride(const Polynomial &p, const std::string &buffer) {
    for (const auto &t : p.terms()) {
        for (const auto &atom : t.atoms) {
            if (strided_dimension(atom, buffer) != 0) {
                return true;
            }
        }
    }
    return false;
}

// Without a maximum with 0 or less, of what is at least 1.
Expr of_at_least_one(const Expr &e) {
    const auto *most = e.as<Max>();
    const auto least = most ? as_const_int(most->b) : std::nullopt;
    return least && *least <= 0 ? most->a : e;
}

// Proves that a sum is less than a size, where there are tiles and steps at all.
class LargestPlace {
public:
    explicit LargestPlace(Expr still) : bounds_{still, still} {}

    // A multiple of a number from 0 on, of which there are so many.
    void add(const Expr &numbers, int64_t factor) {
        const Expr n = of_at_least_one(numbers), f = int(factor);
        const auto *parts = n.as<Div>();
        if (!parts || !is_const(parts->b, factor)) {
            for (auto &b : bounds_) {
                b += (n - 1) * f;
            }
            return;
        }
        // As of (extent + 63) / 64 tiles of 64.
        const Expr whole = of_at_least_one(simplify(parts->a - (f - 1)));
        if (const auto *v = whole.as<Variable>()) {
            known_.push(v->name, Interval(1, Interval::pos_inf()));
        }
        bounds_[0] += whole - 1;
        bounds_[1] += (whole - 1) / f * f;
    }

    bool is_less_than(const Expr &size) const {
        if (std::any_of(bounds_.begin(), bounds_.end(), [&](const Expr &b) { return can_prove(simplify(b) < size, known_); })) {
            return true;
        }
        if (const auto *least = size.as<Min>()) {
            return is_less_than(least->a) && is_less_than(least->b);
        }
        // As of an extent that is rounded up.
        const auto *times = size.as<Mul>();
        const auto *whole = times ? times->a.as<Div>() : nullptr;
        const auto unit = whole && equal(whole->b, times->b) ? as_const_int(whole->b) : std::nullopt;
        if (unit && *unit > 0) {
            return is_less_than(simplify(whole->a - int(*unit - 1)));
        }
        const auto *most = size.as<Max>();
        return most && (is_less_than(most->a) || is_less_than(most->b));
    }

private:
    std::array<Expr, 2> bounds_;  // both are
    Scope<Interval> known_;
};

// How many numbers from 0 on an expression takes, by those of its variables; undefined where that is not known.
Expr numbers_of(const Expr &e, const std::map<std::string, Expr> &extents) {
    if (const auto *v = e.as<Variable>()) {
        const auto known = extents.find(v->name);
        return known == extents.end() ? Expr() : known->second;
    }
    if (const auto *rest = e.as<Mod>()) {
        return numbers_of(rest->a, extents).defined() ? rest->b : Expr();
    }
    if (const auto *parts = e.as<Div>()) {
        const Expr whole = numbers_of(parts->a, extents);
        if (!whole.defined()) {
            return Expr();
        }
        Polynomial left(whole);
        const Polynomial exact = left.divide(Polynomial(parts->b));
        return left.is_zero() ? exact.expr() : simplify((whole - 1) / parts->b + 1);
    }
    return Expr();
}

// Whether a coordinate is proved to be from 0 to size - 1.
bool is_inside(const Polynomial &at, const Expr &size, const IndexVariables &variables) {
    std::vector<std::string> names;
    for (const auto &v : variables.extents) {
        names.push_back(v.first);
    }
    Polynomial still = at;
    const Polynomial moves = still.take_out(names);
    const Expr first = still.expr();
    if (!is_const_zero(first) && !can_prove(first >= 0)) {
        return false;
    }
    LargestPlace last(first);
    for (const auto &t : moves.terms()) {
        const Expr numbers = t.atoms.size() == 1 ? numbers_of(t.atoms[0], variables.extents) : Expr();
        if (!numbers.defined() || t.factor < 0) {
            return false;
        }
        last.add(simplify(numbers), t.factor);
    }
    return (moves.is_zero() && is_const_zero(first)) || last.is_less_than(size);
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
    explicit DropClamps(const std::vector<std::string> &loops) : loops(loops) {}
};

}  // namespace

int rank_of(const std::set<std::string> &variables, const std::string &buffer) {
    int rank = 1;
    for (const auto &name : variables) {
        rank = std::max(rank, strided_dimension(Variable::make(Int(32), name), buffer) + 1);
    }
    return rank;
}

std::optional<std::vector<Expr>> coordinates(const Expr &index, const std::string &buffer, int dimensions) {
    std::vector<Expr> all(size_t(dimensions), Expr(0));
    const Polynomial sum(index);
    for (const auto &term : sum.terms()) {
        int dimension = 0;
        Expr rest = make_const(Int(32), term.factor);
        for (const auto &atom : term.atoms) {
            if (const int d = strided_dimension(atom, buffer)) {
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

std::optional<std::vector<Expr>> coordinates(const Expr &index, const std::string &buffer, const std::vector<Expr> &strides,
                                             const IndexVariables &variables) {
    std::vector<Polynomial> sizes;
    std::vector<size_t> order;  // of dimensions, the largest stride first
    for (size_t d = 0; d < strides.size(); d++) {
        sizes.emplace_back(strides[d]);
        order.push_back(d);
        if (sizes.back().is_zero()) {
            return std::nullopt;
        }
    }
    if (sizes.empty() || !sizes[0].is_one()) {
        return std::nullopt;
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t x, size_t y) { return is_smaller(sizes[y], sizes[x]) || (x > y && !is_smaller(sizes[x], sizes[y])); });
    Polynomial left(index);
    std::vector<Polynomial> counted(strides.size()), over_tile(strides.size());
    for (const size_t d : order) {
        counted[d] = left.divide(sizes[d]);
        over_tile[d] = counted[d].take_out(variables.tile);
    }
    // From the smallest stride on; what is too much for a dimension is counted in the next one.
    std::vector<Expr> all(strides.size());
    for (size_t i = order.size(); i-- > 0;) {
        const size_t d = order[i];
        Expr at = counted[d].expr();
        if (i > 0) {
            Polynomial of_next = sizes[order[i - 1]];
            const Polynomial radix = of_next.divide(sizes[d]);
            // A dimension of one element has the stride of the next one, which has been given all that has it.
            const bool is_one_element = radix.is_one() && counted[d].is_zero() && over_tile[d].is_zero();
            if (!of_next.is_zero() || radix.is_zero() || (radix.is_one() && !is_one_element && !over_tile[order[i - 1]].is_zero())) {
                return std::nullopt;
            }
            const Expr size = radix.expr();
            if (!has_stride(radix, buffer) && !is_inside(counted[d], size, variables)) {
                if (!variables.inside) {
                    return std::nullopt;
                }
                counted[order[i - 1]].add(Polynomial(simplify(at / size)));
                at = at % size;
            }
        }
        all[d] = simplify(simplify(at) + over_tile[d].expr());
    }
    return all;
}

Expr without_clamps(const Expr &e, const std::vector<std::string> &loops) {
    return DropClamps(loops).mutate(e);
}

}  // namespace halyard
