#ifndef HALYARD_GRAPH_MOVES_H
#define HALYARD_GRAPH_MOVES_H

/** \file
 * Nodes whose values only change their places, or are known. Every read is clamped or bounded by how it is made, so that bounds
 * inference asks for no element that an array does not have.
 */

#include "graph/tensor.h"

namespace halyard {

// Of a size that may be a position counted from the end. Of one beyond the dimension, the first or the last element; before it is made 32 bits,
// as what is left of more could be any.
inline Halide::Expr from_start(const Halide::Expr &position, const Halide::Expr &extent) {
    using namespace Halide;
    const Type type = position.type();
    const Expr least = type.is_uint() ? Internal::make_zero(type) : cast(type, -extent);
    const Expr p = cast<int32_t>(type.bits() > 32 || type == UInt(32) ? clamp(position, least, cast(type, extent - 1)) : position);
    return clamp(select(p < 0, p + extent, p), 0, extent - 1);
}

inline Halide::Expr constant(const Node &n, const Tensor &t, const Index &index) {
    using namespace Halide;
    const auto literal = [&](const nlohmann::json &v) {
        if (t.type.is_float()) {
            // Of double, as halves and infinities are.
            const double d = v.is_string() ? std::strtod(v.get<std::string>().c_str(), nullptr) : v.get<double>();
            return Internal::make_const(t.type, d);
        }
        return v.is_number_unsigned() && t.type.is_uint() ? Internal::make_const(t.type, v.get<uint64_t>())
                                                          : Internal::make_const(t.type, v.get<int64_t>());
    };
    const auto &values = n.json.at("values");
    Expr value = literal(values.back());
    for (size_t i = values.size() - 1; i-- > 0;) {
        value = select(index.back() == int(i), literal(values[i]), value);
    }
    return value;
}

// Of each run of dimensions that have as many elements before as after, the place in the run.
inline void reshape(const Node &n, Index &own, const Tensor &x, const Tensor &t, const Index &index) {
    using namespace Halide;
    for (const auto &run : n.json.at("runs")) {
        const auto from = run.at(0).get<std::vector<int>>(), to = run.at(1).get<std::vector<int>>();
        Expr place = 0;
        for (int d : to) {
            place = place * t.shape[size_t(d)] + index[size_t(d)];
        }
        for (size_t i = from.size(); i-- > 0;) {
            const Expr &extent = x.shape[size_t(from[i])];
            own[size_t(from[i])] = i == 0 ? place : place % extent;
            place = place / extent;
        }
    }
}

inline Halide::Expr concat(const Node &n, const Index &index) {
    using namespace Halide;
    const size_t axis = n.json.at("axis");
    Expr value, begin = 0;
    std::vector<Expr> ends, values;
    for (const Tensor *part : n.in) {
        Index own = index;
        own[axis] = clamp(index[axis] - begin, 0, part->shape[axis] - 1);
        values.push_back((*part)(own));
        begin = begin + part->shape[axis];
        ends.push_back(begin);
    }
    value = values.back();
    for (size_t i = values.size() - 1; i-- > 0;) {
        value = select(index[axis] < ends[i], values[i], value);
    }
    return value;
}

inline void gather_nd(const Node &n, Index &own, const Tensor &x, const Index &index) {
    const Tensor &where = *n.in[1];
    const size_t batch = n.json.at("batch"), depth = n.json.at("depth"), prefix = where.shape.size() - 1;
    for (size_t d = 0; d < own.size(); d++) {
        if (d < batch) {
            own[d] = index[d];
        } else if (d < batch + depth) {
            Index at(index.begin(), index.begin() + long(prefix));
            at.emplace_back(int(d - batch));
            own[d] = from_start(where(at), x.shape[d]);
        } else {
            own[d] = index[prefix + d - batch - depth];
        }
    }
}

inline Halide::Expr pad(const Node &n, const Tensor &x, const Tensor &t, const Index &index) {
    using namespace Halide;
    const Index before = n.sizes("before");
    const std::string mode = n.json.at("mode");
    Index own;
    Expr inside = Internal::const_true();
    for (size_t d = 0; d < index.size(); d++) {
        const Expr extent = x.shape[d], at = index[d] - before[d];
        if (Internal::is_const_zero(before[d]) && Internal::equal(simplify(extent), simplify(t.shape[d]))) {
            own.push_back(index[d]);
            continue;
        }
        inside = inside && at >= 0 && at < extent;
        const Expr last = extent - 1;
        const Expr reflected = at % (2 * max(last, 1));  // there and back
        own.push_back(mode == "reflect" ? clamp(min(reflected, 2 * last - reflected), 0, last)
                      : mode == "wrap"  ? (at % extent)
                                        : clamp(at, 0, last));
    }
    return mode == "constant" ? select(inside, x(own), (*n.in[1])({})) : x(own);
}

// A place in the input for a place in the output, by the names of ONNX.
inline Halide::Expr source_of(const std::string &mode, const Halide::Expr &x, const Halide::Expr &scale, const Halide::Expr &from,
                              const Halide::Expr &to) {
    using namespace Halide;
    const Expr at = cast<float>(x), length = cast<float>(to);
    if (mode == "asymmetric") {
        return at / scale;
    } else if (mode == "align_corners") {
        return select(to == 1, 0.0f, at * (cast<float>(from) - 1.0f) / max(length - 1.0f, 1.0f));
    } else if (mode == "pytorch_half_pixel") {
        return select(to > 1, (at + 0.5f) / scale - 0.5f, 0.0f);
    }
    return (at + 0.5f) / scale - 0.5f;  // half_pixel
}

inline Halide::Expr nearest(const std::string &rounding, const Halide::Expr &at) {
    using namespace Halide;
    return cast<int32_t>(rounding == "floor"               ? floor(at)
                         : rounding == "ceil"              ? ceil(at)
                         : rounding == "round_prefer_ceil" ? floor(at + 0.5f)
                                                           : ceil(at - 0.5f));
}

inline Halide::Expr resize(const Node &n, const Tensor &x, const Tensor &t, const Index &index) {
    using namespace Halide;
    const std::string mode = n.json.at("mode"), coordinates = n.json.at("coordinates"), rounding = n.json.at("nearest");
    const auto &scales = n.json.at("scales");  // 0: the ratio of sizes
    std::vector<size_t> changed;
    Index low = index, high = index, part(index.size());
    for (size_t d = 0; d < index.size(); d++) {
        if (!n.json.at("axes").at(d).get<bool>()) {
            continue;
        }
        const Expr last = x.shape[d] - 1;
        const double given = scales.at(d);
        const Expr scale = given > 0 ? Expr(float(given)) : cast<float>(t.shape[d]) / cast<float>(x.shape[d]);
        const Expr at = source_of(coordinates, index[d], scale, x.shape[d], t.shape[d]);
        if (mode == "nearest") {
            low[d] = clamp(nearest(rounding, at), 0, last);
            continue;
        }
        const Expr inside = clamp(at, 0.0f, cast<float>(last)), whole = cast<int32_t>(floor(inside));
        low[d] = clamp(whole, 0, last);
        high[d] = clamp(whole + 1, 0, last);
        part[d] = inside - cast<float>(whole);
        changed.push_back(d);
    }
    if (mode == "nearest") {
        return x(low);
    }
    // The corners of the box around the place, each by how near it is.
    Expr sum = Internal::make_const(Float(32), 0);
    for (size_t corner = 0; corner < (size_t(1) << changed.size()); corner++) {
        Index at = low;
        Expr weight = 1.0f;
        for (size_t i = 0; i < changed.size(); i++) {
            const size_t d = changed[i];
            const bool up = (corner >> i & 1) != 0;
            at[d] = up ? high[d] : low[d];
            weight = weight * (up ? part[d] : 1.0f - part[d]);
        }
        sum = sum + weight * cast<float>(x(at));
    }
    return cast(t.type, sum);
}

// Values that only change their places.
inline Halide::Expr moved(const Node &n, const std::string &op, const Tensor &t, const Index &index) {
    using namespace Halide;
    if (op == "constant") {
        return constant(n, t, index);
    } else if (op == "sizes") {
        const Index values = n.sizes("values");
        Expr value = values.back();
        for (size_t i = values.size() - 1; i-- > 0;) {
            value = select(index.back() == int(i), values[i], value);
        }
        return cast(t.type, value);
    } else if (op == "range") {
        return (*n.in[0])({}) + cast(t.type, index[0]) * (*n.in[1])({});
    }
    const Tensor &x = *n.in[0];
    Index own(x.shape.size());
    if (op == "broadcast") {
        return x.broadcast(index);
    } else if (op == "transpose") {
        const auto perm = n.list("perm");
        for (size_t d = 0; d < perm.size(); d++) {
            own[size_t(perm[d])] = index[d];
        }
    } else if (op == "reshape") {
        reshape(n, own, x, t, index);
    } else if (op == "slice") {
        const Index starts = n.sizes("starts");
        const auto steps = n.list("steps");
        for (size_t d = 0; d < own.size(); d++) {
            own[d] = starts[d] + index[d] * steps[d];
        }
    } else if (op == "concat") {
        return concat(n, index);
    } else if (op == "gather") {
        const size_t axis = n.json.at("axis"), rank = n.in[1]->shape.size();
        Index where(index.begin() + long(axis), index.begin() + long(axis + rank));
        for (size_t d = 0; d < own.size(); d++) {
            own[d] = d < axis ? index[d] : d == axis ? from_start((*n.in[1])(where), x.shape[d]) : index[d + rank - 1];
        }
    } else if (op == "gather_elements") {
        own = index;
        const size_t axis = n.json.at("axis");
        own[axis] = from_start((*n.in[1])(index), x.shape[axis]);
    } else if (op == "gather_nd") {
        gather_nd(n, own, x, index);
    } else if (op == "pad") {
        return pad(n, x, t, index);
    } else if (op == "tile") {
        for (size_t d = 0; d < own.size(); d++) {
            own[d] = index[d] % x.shape[d];
        }
    } else if (op == "resize") {
        return resize(n, x, t, index);
    } else {
        throw CompileError("a graph has no node \"" + op + "\"");
    }
    return x(own);
}

}  // namespace halyard

#endif
