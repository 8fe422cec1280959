#ifndef HALYARD_GRAPH_REDUCTIONS_H
#define HALYARD_GRAPH_REDUCTIONS_H

/** \file
 * Nodes that go along dimensions: sums and extremes, their places, and sums so far.
 */

#include <cmath>

#include "graph/moves.h"
#include "graph/tensor.h"

namespace halyard {

inline void reduce(const Node &n, Tensor &t, const std::vector<Halide::Var> &vars, const Index &index) {
    using namespace Halide;
    const Tensor &x = *n.in[0];
    const auto axes = n.list("axes");
    const bool keep = n.json.at("keep");
    const std::string fn = n.json.at("fn");
    std::vector<Range> ranges;
    for (size_t i = axes.size(); i-- > 0;) {  // the innermost first
        ranges.emplace_back(0, x.shape[size_t(axes[i])]);
    }
    const RDom r(ranges, "r");
    Index own;
    size_t next = 0;
    for (size_t d = 0; d < x.shape.size(); d++) {
        const auto axis = std::find(axes.begin(), axes.end(), int(d));
        if (axis == axes.end()) {
            own.push_back(index[next++]);
        } else {
            own.emplace_back(r[int(axes.end() - axis) - 1]);
            next += keep ? 1 : 0;
        }
    }
    const Type type = sum_type(t.type);
    Func total = type == t.type ? t.f : Func(n.name() + "_sum");
    const Expr value = cast(type, x(own));
    if (fn == "sum") {
        total(vars) = cast(type, 0);
        total(vars) += value;
    } else if (fn == "prod") {
        total(vars) = cast(type, 1);
        total(vars) *= value;
    } else if (fn == "max") {
        total(vars) = type.is_float() ? Internal::make_const(type, -INFINITY) : type.min();
        total(vars) = max(total(vars), value);
    } else if (fn == "min") {
        total(vars) = type.is_float() ? Internal::make_const(type, INFINITY) : type.max();
        total(vars) = min(total(vars), value);
    } else {
        throw CompileError("a graph has no reduction \"" + fn + "\"");
    }
    if (type != t.type) {
        t.f(vars) = cast(t.type, total(vars));
    }
}

// The place of the largest or smallest element, the first or the last of equals.
inline void arg(const Node &n, Tensor &t, const std::vector<Halide::Var> &vars, const Index &index) {
    using namespace Halide;
    const Tensor &x = *n.in[0];
    const size_t axis = n.json.at("axis");
    const bool keep = n.json.at("keep"), largest = n.json.at("fn") == "max", last = n.json.at("last");
    const RDom r(0, x.shape[axis], "r");
    Index own = index;
    if (keep) {
        own[axis] = r;
    } else {
        own.insert(own.begin() + long(axis), Expr(r));
    }
    Func best(n.name() + "_best");
    const Expr lowest = x.type.is_float() ? Internal::make_const(x.type, largest ? -INFINITY : INFINITY)
                        : largest         ? x.type.min()
                                          : x.type.max();
    best(vars) = Tuple(lowest, 0);
    const Expr value = x(own), so_far = best(vars)[0];
    const Expr better = largest ? (last ? value >= so_far : value > so_far) : (last ? value <= so_far : value < so_far);
    best(vars) = Tuple(select(better, value, so_far), select(better, Expr(r), best(vars)[1]));
    t.f(vars) = cast(t.type, best(vars)[1]);
}

inline void cumsum(const Node &n, Tensor &t, const std::vector<Halide::Var> &vars, const Index &index) {
    using namespace Halide;
    const Tensor &x = *n.in[0];
    const size_t axis = n.json.at("axis");
    const bool exclusive = n.json.at("exclusive"), reverse = n.json.at("reverse");
    const Expr extent = x.shape[axis];
    Func sums(n.name() + "_sums");
    const RDom r(1, extent - 1, "r");
    std::vector<Expr> first(vars.begin(), vars.end()), here = first, before = first;
    const size_t d = vars.size() - 1 - axis;
    Index own = index;
    // Sums lie as the result does: Halide 21 fails on a vector with a guard that reads what is stored the other way round.
    const auto place = [&](const Expr &i) { return reverse ? extent - 1 - i : i; };
    const auto source = [&](const Expr &i) {
        own[axis] = place(i);
        return x(own);
    };
    sums(vars) = cast(sum_type(t.type), 0);
    first[d] = place(0);
    here[d] = place(r);
    before[d] = place(r - 1);
    sums(first) = cast(sum_type(t.type), source(0));
    sums(here) = sums(before) + cast(sum_type(t.type), source(r));
    std::vector<Expr> at(vars.begin(), vars.end());
    const Expr own_place = vars[d], begin = reverse ? extent - 1 : Expr(0);
    at[d] = !exclusive ? own_place : reverse ? min(own_place + 1, extent - 1) : max(own_place - 1, 0);
    t.f(vars) = cast(t.type, exclusive ? select(own_place == begin, cast(sum_type(t.type), 0), sums(at)) : sums(at));
}

// The first input, with the elements of the last one put where the second says, one after the other: at places along an axis, or, without one,
// where the rows of the second are the first indices.
inline void scatter(const Node &n, Tensor &t, const std::vector<Halide::Var> &vars, const Index &index) {
    using namespace Halide;
    const Tensor &x = *n.in[0], &where = *n.in[1], &updates = *n.in[2];
    std::vector<Range> ranges;
    for (size_t d = updates.shape.size(); d-- > 0;) {
        ranges.emplace_back(0, updates.shape[d]);
    }
    const RDom r(ranges, "r");
    Index from;
    for (int d = int(updates.shape.size()); d-- > 0;) {
        from.emplace_back(r[d]);
    }
    Index to = from;
    const int axis = n.json.at("axis");
    if (axis >= 0) {
        to[size_t(axis)] = from_start(where(from), x.shape[size_t(axis)]);
    } else {
        const size_t prefix = where.shape.size() - 1, depth = n.json.at("depth");
        Index at(from.begin(), from.begin() + long(prefix));
        to.assign(from.begin() + long(prefix), from.end());
        for (size_t d = 0; d < depth; d++) {
            Index of = at;
            of.emplace_back(int(d));
            to.insert(to.begin() + long(d), from_start(where(of), x.shape[d]));
        }
    }
    Func made(n.name() + "_scattered");
    made(vars) = x(index);
    std::reverse(to.begin(), to.end());
    const std::string how = n.json.at("reduction");
    const Expr value = updates(from), before = made(to);
    made(to) = how == "add"   ? before + value
               : how == "mul" ? before * value
               : how == "min" ? min(before, value)
               : how == "max" ? max(before, value)
                              : value;
    t.f(vars) = made(vars);
}

}  // namespace halyard

#endif
