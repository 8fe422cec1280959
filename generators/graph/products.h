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

// Of whole numbers of 8 bits, less their zeros, where a call brings both matrices: in = a, b, zero of a, zero of b.
//
//   sum of (a - za) (b - zb) = sum of a b - zb (sum of a) - za (sum of b) + depth za zb
//
// The sums are exact, in 32 bits. Instructions multiply unsigned rows by signed columns, four neighbours along the depth at a time: what is
// otherwise is moved by 128, with its zero. NAME_rows [depth, x1, ...] and NAME_columns [4, x0, depth / 4, x2, ...] are the operands so.
inline void matmul_int8(const Node &n, Tensor &t, const std::vector<Halide::Var> &vars, const Index &index) {
    using namespace Halide;
    constexpr int kGroup = 4, kHalf = 128;
    const Tensor &a = *n.in[0], &b = *n.in[1];
    const Expr depth = a.shape.back(), whole = simplify((depth + (kGroup - 1)) / kGroup * kGroup);
    const size_t rank = index.size();
    const Var along("along"), member("member"), group("group");
    const auto level = [&](const Tensor &x, size_t dimension, const Expr &at, const Type &type) {
        Index own = index;
        own[dimension] = min(likely(at), depth - 1);
        if (dimension + 2 == rank) {  // vectors stick out of a row
            own[rank - 1] = min(likely(index[rank - 1]), t.shape[rank - 1] - 1);
        }
        const Expr value = matrix(x, own);
        return x.type == type ? value : cast(type, cast<int16_t>(value) + (type.is_uint() ? kHalf : -kHalf));
    };
    Func rows(n.name() + "_rows"), columns(n.name() + "_columns"), acc(n.name() + "_acc");
    std::vector<Var> of_rows = vars, of_columns = {member, vars[0], group};
    of_rows[0] = along;
    of_columns.insert(of_columns.end(), vars.begin() + 2, vars.end());
    rows(of_rows) = level(a, rank - 1, along, UInt(8));
    const Expr at = group * kGroup + member;
    columns(of_columns) = select(likely(at < depth), level(b, rank - 2, at, Int(8)), cast<int8_t>(0));
    const auto row = [&](const Expr &k) {
        std::vector<Expr> own(vars.begin(), vars.end());
        own[0] = k;
        return cast<int32_t>(rows(own));
    };
    const auto column = [&](const Expr &k) {
        std::vector<Expr> own = {k % kGroup, vars[0], k / kGroup};
        own.insert(own.end(), vars.begin() + 2, vars.end());
        return cast<int32_t>(columns(own));
    };
    const RDom r(0, whole, "r");
    acc(vars) = 0;
    acc(vars) += row(r) * column(r);
    Expr sum = acc(vars), za = n.in[2]->broadcast(index) + (a.type.is_int() ? kHalf : 0),
         zb = n.in[3]->broadcast(index) - (b.type.is_uint() ? kHalf : 0);
    const auto terms = n.json.at("terms").get<std::vector<bool>>();
    if (terms[0]) {
        std::vector<Var> each(vars.begin() + 1, vars.end());
        Func total(n.name() + "_row_sum");
        const RDom k(0, depth, "r");
        total(each) = 0;
        total(each) += row(k);
        sum = sum - zb * total(each);
    }
    if (terms[1]) {
        std::vector<Var> each = vars;
        each.erase(each.begin() + 1);
        Func total(n.name() + "_column_sum");
        const RDom k(0, whole, "r");
        total(each) = 0;
        total(each) += column(k);
        sum = sum - za * total(each);
    }
    t.f(vars) = terms[0] && terms[1] ? sum + depth * (za * zb) : sum;
}

// The image, and `none` around it.
inline Halide::Expr framed(const Tensor &x, const Index &index, size_t first, size_t spatial, const Halide::Expr &none) {
    using namespace Halide;
    Index own = index;
    Expr inside = Internal::const_true();
    for (size_t d = first; d < first + spatial; d++) {
        inside = inside && index[d] >= 0 && index[d] < x.shape[d];
        own[d] = clamp(likely(index[d]), 0, x.shape[d] - 1);
    }
    return select(likely(inside), x(own), cast(x.type, none));
}

// Images have their channels innermost, or behind the batch as in ONNX.
inline bool channels_are_last(const Node &n) {
    return n.json.value("last", false);
}

// By how many elements an average divides: those of the window that lie in x, or in x with its padding.
inline Halide::Expr taps(const Node &n, const Index &index) {
    using namespace Halide;
    const Tensor &x = *n.in[0];
    const auto kernel = n.list("kernel"), strides = n.list("strides"), dilations = n.list("dilations");
    const Index before = n.sizes("before"), after = n.sizes("after");
    const bool padding = n.json.at("count_padding");
    const size_t place = channels_are_last(n) ? 1 : 2;
    Expr count = 1;
    for (size_t s = 0; s < kernel.size(); s++) {
        const Expr first = index[place + s] * strides[s] - before[s], d = dilations[s];
        const Expr low = padding ? -before[s] : Expr(0), high = x.shape[place + s] + (padding ? after[s] : Expr(0));
        // Taps i with low <= first + i d < high.
        const Expr begin = max(0, (low - first + d - 1) / d), end = min(kernel[s], (high - first + d - 1) / d);
        count = count * max(end - begin, 1);
    }
    return count;
}

// Weights of channel `in` of a group to channel `out`, as ONNX has them, or with channels innermost: packed in panels of output
// channels [panels, kernel, in, panel], of one channel each [kernel, channels], or [kernel, in, out].
inline Halide::Expr weight_at(const Node &n, const Index &tap, const Halide::Expr &in, const Halide::Expr &out) {
    const Tensor &w = *n.in[1];
    Index at = tap;
    if (!channels_are_last(n)) {
        at.insert(at.begin(), {out, in});
        return w(at);
    }
    const int panel = n.json.at("panel");
    if (panel > 0) {
        at.insert(at.begin(), out / panel);
        at.insert(at.end(), {in, out % panel});
    } else if (panel == 0) {
        at.push_back(out);
    } else {
        at.insert(at.end(), {in, out});
    }
    return w(at);
}

inline void window(const Node &n, Tensor &t, const std::vector<Halide::Var> &vars, const Index &index, const std::string &op) {
    using namespace Halide;
    const Tensor &x = *n.in[0];
    const auto kernel = n.list("kernel"), strides = n.list("strides"), dilations = n.list("dilations");
    const Index before = n.sizes("before");
    const size_t spatial = kernel.size();
    const bool product = op != "pool", last = channels_are_last(n);
    const size_t first = last ? 1 : 2, channel_at = last ? 1 + spatial : 1;
    const Type type = sum_type(t.type);
    const std::string fn = product ? "sum" : n.json.at("fn").get<std::string>();
    // A sum over the channels of a group, where it has more than one.
    const int panel = last && product ? n.json.at("panel").get<int>() : 1;
    const bool over_channels = product && panel != 0;

    // With channels innermost the loop over them comes first, and then the window.
    std::vector<Range> ranges;
    for (size_t s = spatial; s-- > 0;) {
        ranges.emplace_back(0, kernel[s]);
    }
    // Channels of a group: of x, and of the result.
    const int groups = over_channels ? n.json.at("groups").get<int>() : 1;
    const Expr of_x = simplify(x.shape[channel_at] / groups), of_y = simplify(t.shape[channel_at] / groups);
    if (over_channels) {
        ranges.insert(last ? ranges.begin() : ranges.end(), Range(0, of_x));
    }
    RDom r(ranges, "r");
    const Expr channel = over_channels ? Expr(r[last ? 0 : int(spatial)]) : Expr(0);
    const auto tap = [&](size_t s) { return Expr(r[int(spatial - 1 - s) + (last && over_channels ? 1 : 0)]); };

    // Where a tap of the window lies in x. Around the image stands what counts for nothing: a Func of its own, so that no tap asks.
    const auto &in_image = n.json.at("inside");
    const bool bare = std::all_of(in_image.begin(), in_image.end(), [](const nlohmann::json &j) { return j.get<bool>(); });
    const Expr none =
        fn == "max" ? type.is_float() ? Internal::make_const(type, -INFINITY) : type.min() : cast(type, n.json.value("outside", 0));
    Tensor image = x;
    if (op != "conv_transpose" && !bare) {
        image.f = Func(n.name() + "_pad");
        image.f(vars) = framed(x, index, first, spatial, none);
    }
    Index own(2 + spatial), taps_at;
    own[0] = index[0];
    Expr inside = Internal::const_true();
    for (size_t s = 0; s < spatial; s++) {
        const Expr extent = x.shape[first + s];
        taps_at.push_back(tap(s));
        if (op != "conv_transpose") {
            own[first + s] = index[first + s] * strides[s] + tap(s) * dilations[s] - before[s];
            continue;
        }
        const Expr reach = index[first + s] + before[s] - tap(s) * dilations[s], at = reach / strides[s];
        inside = inside && reach >= 0 && at < extent;
        inside = strides[s] == 1 ? inside : inside && reach % strides[s] == 0;
        own[first + s] = clamp(at, 0, extent - 1);
    }
    // Windows of each channel by itself leave out the rows that lie outside of x: most of a large window where an image has few rows. By the
    // clamp, which changes nothing then, the image is stored without them, too.
    for (size_t s = 0; s + 1 < spatial && op != "conv_transpose" && last && !over_channels; s++) {
        if (!in_image[s].get<bool>()) {
            Expr &row = own[first + s];
            const Expr extent = x.shape[first + s];
            r.where(row >= 0 && row < extent);
            row = clamp(row, 0, extent - 1);
        }
    }
    Func acc(n.name() + "_acc");
    const Expr &out = index[channel_at];
    if (!product) {
        own[channel_at] = out;
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
    own[channel_at] = !over_channels ? out : groups == 1 ? channel : out / of_y * of_x + channel;
    Expr weight;
    if (op == "conv") {
        weight = weight_at(n, taps_at, channel, out);
    } else {
        Index at = {own[channel_at], groups == 1 ? out : out % of_y};
        at.insert(at.end(), taps_at.begin(), taps_at.end());
        weight = (*n.in[1])(at);
    }
    acc(vars) = cast(type, 0);
    acc(vars) += (op == "conv" ? cast(type, image(own)) : select(inside, cast(type, x(own)), cast(type, 0))) * cast(type, weight);
    t.f(vars) = cast(t.type, n.in.size() > 2 ? acc(vars) + cast(type, (*n.in[2])({out})) : acc(vars));
}

}  // namespace halyard

#endif
