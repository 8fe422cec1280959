#ifndef HALYARD_GRAPH_NODES_H
#define HALYARD_GRAPH_NODES_H

/** \file
 * Nodes of a graph as Funcs, one each.
 *
 * Indices and shapes are in the order of the graph: the outermost dimension first. Funcs have the innermost first, as all of
 * Halide, and call their dimensions x0, x1, ... from there. Every read is clamped or bounded by how it is made, so that bounds
 * inference asks for no element that an array does not have.
 */

#include <map>
#include <string>
#include <vector>

#include <Halide.h>
#include <nlohmann/json.hpp>

#include "graph/maps.h"
#include "graph/sizes.h"

namespace halyard {

using Index = std::vector<Halide::Expr>;

struct Tensor {
    Halide::Func f;
    Halide::Type type;
    Index shape;

    Halide::Expr operator()(Index index) const {
        std::reverse(index.begin(), index.end());
        return f(index);
    }

    /** As numpy broadcasts it to more or larger dimensions. */
    Halide::Expr broadcast(const Index &index) const {
        const size_t skipped = index.size() - shape.size();
        Index own;
        for (size_t d = 0; d < shape.size(); d++) {
            own.push_back(Halide::Internal::is_const_one(shape[d]) ? Halide::Expr(0) : index[skipped + d]);
        }
        return (*this)(own);
    }
};

/** Makes the Funcs of a graph's nodes. */
class GraphNodes {
public:
    explicit GraphNodes(const SizeReader &sizes) : sizes_(sizes) {}

    void add_input(const std::string &name, const Tensor &tensor) {
        tensors_[name] = tensor;
    }

    const Tensor &at(const std::string &name) const {
        const auto found = tensors_.find(name);
        if (found == tensors_.end()) {
            throw Halide::CompileError("the graph has no value \"" + name + "\"");
        }
        return found->second;
    }

    Index shape_of(const nlohmann::json &shape) {
        Index result;
        for (const auto &s : shape) {
            result.push_back(s.is_number() ? Halide::Expr(s.get<int32_t>()) : sizes_.read(s.get<std::string>()));
        }
        return result;
    }

    /** x0, x1, ... in the order of Halide. */
    static std::vector<Halide::Var> variables(size_t rank) {
        std::vector<Halide::Var> result;
        for (size_t d = 0; d < rank; d++) {
            result.emplace_back("x" + std::to_string(d));
        }
        return result;
    }

    void add(const nlohmann::json &node) {
        using namespace Halide;
        const std::string name = node.at("name");
        Tensor t{Func(name), type_of(node.at("type")), shape_of(node.at("shape"))};
        const std::vector<Var> vars = variables(t.shape.size());
        const Index index(vars.rbegin(), vars.rend());
        const std::string op = node.at("op");
        in_.clear();
        for (const auto &i : node.at("in")) {
            in_.push_back(&at(i));
        }
        node_ = &node;
        if (op == "map") {
            Arguments arguments;
            for (const Tensor *i : in_) {
                arguments.push_back(i->broadcast(index));
            }
            t.f(vars) = map_elements(node.at("fn"), arguments, t.type);
        } else if (op == "reduce") {
            reduce(t, vars, index);
        } else if (op == "arg") {
            arg(t, vars, index);
        } else if (op == "cumsum") {
            cumsum(t, vars, index);
        } else if (op == "matmul") {
            matmul(t, vars, index);
        } else if (op == "conv" || op == "conv_transpose" || op == "pool") {
            window(t, vars, index, op);
        } else {
            t.f(vars) = moved(op, t, index);
        }
        tensors_[name] = t;
    }

    static Halide::Type type_of(const std::string &name) {
        using namespace Halide;
        static const std::map<std::string, Type> types = {
            {"float32", Float(32)}, {"float64", Float(64)}, {"float16", Float(16)}, {"bfloat16", BFloat(16)}, {"int64", Int(64)},
            {"int32", Int(32)},     {"int16", Int(16)},     {"int8", Int(8)},       {"uint8", UInt(8)},       {"uint16", UInt(16)},
            {"uint32", UInt(32)},   {"uint64", UInt(64)},   {"bool", UInt(8)}};
        const auto found = types.find(name);
        if (found == types.end()) {
            throw CompileError("a graph has no type \"" + name + "\"");
        }
        return found->second;
    }

private:
    // Of the node: Halide's own of a Func may have a number behind it.
    std::string name() const {
        return node_->at("name");
    }
    std::vector<int> list(const char *name) const {
        return node_->at(name).get<std::vector<int>>();
    }
    Index sizes(const char *name) {
        return shape_of(node_->at(name));
    }
    /** What sums of a type are added up in. */
    static Halide::Type sum_type(const Halide::Type &t) {
        return t.is_float() && t.bits() < 32 ? Halide::Float(32) : t;
    }

    // Of a size that may be a position counted from the end.
    static Halide::Expr from_start(const Halide::Expr &position, const Halide::Expr &extent) {
        using namespace Halide;
        const Expr p = cast<int32_t>(position);
        return clamp(select(p < 0, p + extent, p), 0, extent - 1);
    }

    // Values that only change their places.
    Halide::Expr moved(const std::string &op, const Tensor &t, const Index &index) {
        using namespace Halide;
        if (op == "constant") {
            return constant(t, index);
        } else if (op == "sizes") {
            const Index values = sizes("values");
            Expr value = values.back();
            for (size_t i = values.size() - 1; i-- > 0;) {
                value = select(index.back() == int(i), values[i], value);
            }
            return cast(t.type, value);
        } else if (op == "range") {
            return in_[0]->operator()({}) + cast(t.type, index[0]) * in_[1]->operator()({});
        }
        const Tensor &x = *in_[0];
        Index own(x.shape.size());
        if (op == "broadcast") {
            return x.broadcast(index);
        } else if (op == "transpose") {
            const auto perm = list("perm");
            for (size_t d = 0; d < perm.size(); d++) {
                own[size_t(perm[d])] = index[d];
            }
        } else if (op == "reshape") {
            reshape(own, x, t, index);
        } else if (op == "slice") {
            const Index starts = sizes("starts");
            const auto steps = list("steps");
            for (size_t d = 0; d < own.size(); d++) {
                own[d] = starts[d] + index[d] * steps[d];
            }
        } else if (op == "concat") {
            return concat(index);
        } else if (op == "gather") {
            const size_t axis = node_->at("axis"), rank = in_[1]->shape.size();
            Index where(index.begin() + long(axis), index.begin() + long(axis + rank));
            for (size_t d = 0; d < own.size(); d++) {
                own[d] = d < axis ? index[d] : d == axis ? from_start((*in_[1])(where), x.shape[d]) : index[d + rank - 1];
            }
        } else if (op == "gather_elements") {
            own = index;
            const size_t axis = node_->at("axis");
            own[axis] = from_start((*in_[1])(index), x.shape[axis]);
        } else if (op == "gather_nd") {
            gather_nd(own, x, index);
        } else if (op == "pad") {
            return pad(x, t, index);
        } else if (op == "tile") {
            for (size_t d = 0; d < own.size(); d++) {
                own[d] = index[d] % x.shape[d];
            }
        } else if (op == "resize") {
            return resize(x, t, index);
        } else {
            throw CompileError("a graph has no node \"" + op + "\"");
        }
        return x(own);
    }

    Halide::Expr constant(const Tensor &t, const Index &index) {
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
        const auto &values = node_->at("values");
        Expr value = literal(values.back());
        for (size_t i = values.size() - 1; i-- > 0;) {
            value = select(index.back() == int(i), literal(values[i]), value);
        }
        return value;
    }

    // Of each run of dimensions that have as many elements before as after, the place in the run.
    void reshape(Index &own, const Tensor &x, const Tensor &t, const Index &index) const {
        using namespace Halide;
        for (const auto &run : node_->at("runs")) {
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

    Halide::Expr concat(const Index &index) const {
        using namespace Halide;
        const size_t axis = node_->at("axis");
        Expr value, begin = 0;
        std::vector<Expr> ends, values;
        for (const Tensor *part : in_) {
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

    void gather_nd(Index &own, const Tensor &x, const Index &index) const {
        const Tensor &where = *in_[1];
        const size_t batch = node_->at("batch"), depth = node_->at("depth"), prefix = where.shape.size() - 1;
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

    Halide::Expr pad(const Tensor &x, const Tensor &t, const Index &index) {
        using namespace Halide;
        const Index before = sizes("before");
        const std::string mode = node_->at("mode");
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
        return mode == "constant" ? select(inside, x(own), (*in_[1])({})) : x(own);
    }

    // A place in the input for a place in the output, by the names of ONNX.
    static Halide::Expr source_of(const std::string &mode, const Halide::Expr &x, const Halide::Expr &scale, const Halide::Expr &from,
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

    static Halide::Expr nearest(const std::string &rounding, const Halide::Expr &at) {
        using namespace Halide;
        return cast<int32_t>(rounding == "floor"               ? floor(at)
                             : rounding == "ceil"              ? ceil(at)
                             : rounding == "round_prefer_ceil" ? floor(at + 0.5f)
                                                               : ceil(at - 0.5f));
    }

    Halide::Expr resize(const Tensor &x, const Tensor &t, const Index &index) {
        using namespace Halide;
        const std::string mode = node_->at("mode"), coordinates = node_->at("coordinates"), rounding = node_->at("nearest");
        const auto &scales = node_->at("scales");  // 0: the ratio of sizes
        std::vector<size_t> changed;
        Index low = index, high = index, part(index.size());
        for (size_t d = 0; d < index.size(); d++) {
            if (!node_->at("axes").at(d).get<bool>()) {
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

    void reduce(Tensor &t, const std::vector<Halide::Var> &vars, const Index &index) {
        using namespace Halide;
        const Tensor &x = *in_[0];
        const auto axes = list("axes");
        const bool keep = node_->at("keep");
        const std::string fn = node_->at("fn");
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
        Func total = type == t.type ? t.f : Func(name() + "_sum");
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
    void arg(Tensor &t, const std::vector<Halide::Var> &vars, const Index &index) {
        using namespace Halide;
        const Tensor &x = *in_[0];
        const size_t axis = node_->at("axis");
        const bool keep = node_->at("keep"), largest = node_->at("fn") == "max", last = node_->at("last");
        const RDom r(0, x.shape[axis], "r");
        Index own = index;
        if (keep) {
            own[axis] = r;
        } else {
            own.insert(own.begin() + long(axis), Expr(r));
        }
        Func best(name() + "_best");
        const Expr lowest = x.type.is_float() ? Internal::make_const(x.type, largest ? -INFINITY : INFINITY)
                            : largest         ? x.type.min()
                                              : x.type.max();
        best(vars) = Tuple(lowest, 0);
        const Expr value = x(own), so_far = best(vars)[0];
        const Expr better = largest ? (last ? value >= so_far : value > so_far) : (last ? value <= so_far : value < so_far);
        best(vars) = Tuple(select(better, value, so_far), select(better, Expr(r), best(vars)[1]));
        t.f(vars) = cast(t.type, best(vars)[1]);
    }

    void cumsum(Tensor &t, const std::vector<Halide::Var> &vars, const Index &index) {
        using namespace Halide;
        const Tensor &x = *in_[0];
        const size_t axis = node_->at("axis");
        const bool exclusive = node_->at("exclusive"), reverse = node_->at("reverse");
        const Expr extent = x.shape[axis];
        Func sums(name() + "_sums");
        const RDom r(1, extent - 1, "r");
        std::vector<Expr> first(vars.begin(), vars.end()), here = first, before = first;
        const size_t d = vars.size() - 1 - axis;
        Index own = index;
        const auto source = [&](const Expr &i) {
            own[axis] = reverse ? extent - 1 - i : i;
            return x(own);
        };
        sums(vars) = cast(sum_type(t.type), 0);
        first[d] = 0;
        here[d] = r;
        before[d] = r - 1;
        sums(first) = cast(sum_type(t.type), source(0));
        sums(here) = sums(before) + cast(sum_type(t.type), source(r));
        const Expr place = reverse ? extent - 1 - Expr(vars[d]) : Expr(vars[d]);
        std::vector<Expr> at(vars.begin(), vars.end());
        at[d] = exclusive ? max(place - 1, 0) : place;
        t.f(vars) = cast(t.type, exclusive ? select(place == 0, cast(sum_type(t.type), 0), sums(at)) : sums(at));
    }

    void matmul(Tensor &t, const std::vector<Halide::Var> &vars, const Index &index) {
        using namespace Halide;
        const Tensor &a = *in_[0], &b = *in_[1];
        const RDom r(0, a.shape.back(), "r");
        const size_t rank = index.size();
        Index at_a(index.begin(), index.end() - 1), at_b(index.begin(), index.end() - 2);
        at_a.emplace_back(r);
        at_b.emplace_back(r);
        at_b.push_back(index[rank - 1]);
        const Type type = sum_type(t.type);
        Func acc = type == t.type ? t.f : Func(name() + "_sum");
        acc(vars) = cast(type, 0);
        acc(vars) += cast(type, matrix(a, at_a)) * cast(type, matrix(b, at_b));
        if (type != t.type) {
            t.f(vars) = cast(t.type, acc(vars));
        }
    }

    // Of a batch of matrices, which is broadcast; the last two dimensions are not.
    static Halide::Expr matrix(const Tensor &x, const Index &index) {
        const size_t rank = x.shape.size(), skipped = index.size() - rank;
        Index own;
        for (size_t d = 0; d < rank; d++) {
            own.push_back(d + 2 < rank && Halide::Internal::is_const_one(x.shape[d]) ? Halide::Expr(0) : index[skipped + d]);
        }
        return x(own);
    }

    void window(Tensor &t, const std::vector<Halide::Var> &vars, const Index &index, const std::string &op) {
        using namespace Halide;
        const Tensor &x = *in_[0];
        const auto kernel = list("kernel"), strides = list("strides"), dilations = list("dilations");
        const Index before = sizes("before");
        const size_t spatial = kernel.size();
        const bool product = op != "pool";
        const Type type = sum_type(t.type);
        const int groups = product ? node_->at("groups").get<int>() : 1;
        const std::string fn = product ? "sum" : node_->at("fn").get<std::string>();

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
        const auto &in_image = node_->at("inside");
        const bool bare = std::all_of(in_image.begin(), in_image.end(), [](const nlohmann::json &j) { return j.get<bool>(); });
        const Expr none = fn == "max" ? type.is_float() ? Internal::make_const(type, -INFINITY) : type.min() : cast(type, 0);
        Tensor image = x;
        if (op != "conv_transpose" && !bare) {
            image.f = Func(name() + "_pad");
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
        Func acc(name() + "_acc");
        if (!product) {
            own[1] = index[1];
            const Expr value = cast(type, image(own));
            acc(vars) = none;
            if (fn == "max") {
                acc(vars) = max(acc(vars), value);
                t.f(vars) = cast(t.type, acc(vars));
            } else {
                acc(vars) += value;
                t.f(vars) = cast(t.type, acc(vars) / cast(type, taps(index)));
            }
            return;
        }
        const Tensor &w = *in_[1];
        const Expr channel = r[int(spatial)], group = groups == 1 ? Expr(0) : index[1] / of_y;
        own[1] = groups == 1 ? channel : group * of_x + channel;
        Index weight = op == "conv" ? Index{index[1], channel} : Index{own[1], groups == 1 ? index[1] : index[1] % of_y};
        for (size_t s = 0; s < spatial; s++) {
            weight.push_back(tap(s));
        }
        acc(vars) = cast(type, 0);
        acc(vars) += (op == "conv" ? cast(type, image(own)) : select(inside, cast(type, x(own)), cast(type, 0))) * cast(type, w(weight));
        t.f(vars) = cast(t.type, in_.size() > 2 ? acc(vars) + cast(type, (*in_[2])({index[1]})) : acc(vars));
    }

    // The image, and `none` around it.
    static Halide::Expr framed(const Tensor &x, const Index &index, size_t spatial, const Halide::Expr &none) {
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
    Halide::Expr taps(const Index &index) {
        using namespace Halide;
        const Tensor &x = *in_[0];
        const auto kernel = list("kernel"), strides = list("strides"), dilations = list("dilations");
        const Index before = sizes("before"), after = sizes("after");
        const bool padding = node_->at("count_padding");
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

    SizeReader sizes_;
    std::map<std::string, Tensor> tensors_;
    const nlohmann::json *node_ = nullptr;
    std::vector<const Tensor *> in_;
};

}  // namespace halyard

#endif
