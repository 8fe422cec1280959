#ifndef HALYARD_GRAPH_PRODUCTS_H
#define HALYARD_GRAPH_PRODUCTS_H

/** \file
 * Products of matrices, convolutions, and windows.
 */

#include <cmath>

#include "graph/tensor.h"

namespace halyard {

// Of a batch of matrices, which is broadcast; the last two dimensions are not.
inline Halide::Expr matrix(const Tensor &x, const Index &index) {
    const size_t rank = x.shape.size(), skipped = index.size() - rank;
    Index own;
    for (size_t d = 0; d < rank; d++) {
        own.push_back(d + 2 < rank && Halide::Internal::is_const_one(x.shape[d]) ? Halide::Expr(0) : index[skipped + d]);
    }
    return x(own);
}

inline void matmul(const Node &n, Tensor &t, const std::vector<Halide::Var> &vars, const Index &index) {
    using namespace Halide;
    const Tensor &a = *n.in[0], &b = *n.in[1];
    const RDom r(0, a.shape.back(), "r");
    const size_t rank = index.size();
    Index at_a(index.begin(), index.end() - 1), at_b(index.begin(), index.end() - 2);
    at_a.emplace_back(r);
    at_b.emplace_back(r);
    at_b.push_back(index[rank - 1]);
    const Type type = sum_type(t.type);
    Func acc = type == t.type ? t.f : Func(n.name() + "_sum");
    acc(vars) = cast(type, 0);
    acc(vars) += cast(type, matrix(a, at_a)) * cast(type, matrix(b, at_b));
    if (type != t.type) {
        t.f(vars) = cast(t.type, acc(vars));
    }
}

// The image, and `none` around it.
inline Halide::Expr framed(const Tensor &x, const Index &index, size_t spatial, const Halide::Expr &none) {
    using namespace Halide;
    Index own = index;
    Expr inside = Internal::const_true();
    for (size_t d = 2; d < 2 + spatial; d++) {
        inside = inside && index[d] >= 0 && index[d] < x.shape[d];
        own[d] = clamp(index[d], 0, x.shape[d] - 1);
    }
    return select(inside, x(own), cast(x.type, none));
}

// By how many elements an average divides: those of the window that lie in x, or in x with its padding.
inline Halide::Expr taps(const Node &n, const Index &index) {
    using namespace Halide;
    const Tensor &x = *n.in[0];
    const auto kernel = n.list("kernel"), strides = n.list("strides"), dilations = n.list("dilations");
    const Index before = n.sizes("before"), after = n.sizes("after");
    const bool padding = n.json.at("count_padding");
    Expr count = 1;
    for (size_t s = 0; s < kernel.size(); s++) {
        const Expr first = index[2 + s] * strides[s] - before[s], d = dilations[s];
        const Expr low = padding ? -before[s] : Expr(0), high = x.shape[2 + s] + (padding ? after[s] : Expr(0));
        // Taps i with low <= first + i d < high.
        const Expr begin = max(0, (low - first + d - 1) / d), end = min(kernel[s], (high - first + d - 1) / d);
        count = count * max(end - begin, 1);
    }
    return count;
}

inline void window(const Node &n, Tensor &t, const std::vector<Halide::Var> &vars, const Index &index, const std::string &op) {
    using namespace Halide;
    const Tensor &x = *n.in[0];
    const auto kernel = n.list("kernel"), strides = n.list("strides"), dilations = n.list("dilations");
    const Index before = n.sizes("before");
    const size_t spatial = kernel.size();
    const bool product = op != "pool";
    const Type type = sum_type(t.type);
    const int groups = product ? n.json.at("groups").get<int>() : 1;
    const std::string fn = product ? "sum" : n.json.at("fn").get<std::string>();

    std::vector<Range> ranges;
    for (size_t s = spatial; s-- > 0;) {
        ranges.emplace_back(0, kernel[s]);
    }
    // Channels of a group: of x, and of the result.
    const Expr of_x = simplify(x.shape[1] / groups), of_y = simplify(t.shape[1] / groups);
    if (product) {
        ranges.emplace_back(0, of_x);
    }
    const RDom r(ranges, "r");
    const auto tap = [&](size_t s) { return Expr(r[int(spatial - 1 - s)]); };

    // Where a tap of the window lies in x. Around the image stands what counts for nothing: a Func of its own, so that no tap asks.
    const auto &in_image = n.json.at("inside");
    const bool bare = std::all_of(in_image.begin(), in_image.end(), [](const nlohmann::json &j) { return j.get<bool>(); });
    const Expr none = fn == "max" ? type.is_float() ? Internal::make_const(type, -INFINITY) : type.min() : cast(type, 0);
    Tensor image = x;
    if (op != "conv_transpose" && !bare) {
        image.f = Func(n.name() + "_pad");
        image.f(vars) = framed(x, index, spatial, none);
    }
    Index own = {index[0], Expr(0)};
    Expr inside = Internal::const_true();
    for (size_t s = 0; s < spatial; s++) {
        const Expr extent = x.shape[2 + s];
        if (op != "conv_transpose") {
            own.push_back(index[2 + s] * strides[s] + tap(s) * dilations[s] - before[s]);
            continue;
        }
        const Expr reach = index[2 + s] + before[s] - tap(s) * dilations[s], at = reach / strides[s];
        inside = inside && reach >= 0 && at < extent;
        inside = strides[s] == 1 ? inside : inside && reach % strides[s] == 0;
        own.push_back(clamp(at, 0, extent - 1));
    }
    Func acc(n.name() + "_acc");
    if (!product) {
        own[1] = index[1];
        const Expr value = cast(type, image(own));
        acc(vars) = none;
        if (fn == "max") {
            acc(vars) = max(acc(vars), value);
            t.f(vars) = cast(t.type, acc(vars));
        } else {
            acc(vars) += value;
            t.f(vars) = cast(t.type, acc(vars) / cast(type, taps(n, index)));
        }
        return;
    }
    const Tensor &w = *n.in[1];
    const Expr channel = r[int(spatial)], group = groups == 1 ? Expr(0) : index[1] / of_y;
    own[1] = groups == 1 ? channel : group * of_x + channel;
    Index weight = op == "conv" ? Index{index[1], channel} : Index{own[1], groups == 1 ? index[1] : index[1] % of_y};
    for (size_t s = 0; s < spatial; s++) {
        weight.push_back(tap(s));
    }
    acc(vars) = cast(type, 0);
    acc(vars) += (op == "conv" ? cast(type, image(own)) : select(inside, cast(type, x(own)), cast(type, 0))) * cast(type, w(weight));
    t.f(vars) = cast(t.type, n.in.size() > 2 ? acc(vars) + cast(type, (*n.in[2])({index[1]})) : acc(vars));
}

}  // namespace halyard

#endif
