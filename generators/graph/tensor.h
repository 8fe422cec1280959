#ifndef HALYARD_GRAPH_TENSOR_H
#define HALYARD_GRAPH_TENSOR_H

/** \file
 * Arrays of a graph as Funcs, and a node that is read.
 *
 * Indices and shapes are in the order of the graph: the outermost dimension first. Funcs have the innermost first, as all of
 * Halide, and call their dimensions x0, x1, ... from there.
 */

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <Halide.h>
#include <nlohmann/json.hpp>

#include "graph/sizes.h"

namespace halyard {

using Index = std::vector<Halide::Expr>;

struct Tensor {
    Halide::Func f;
    Halide::Type type;
    Index shape;
    Halide::Expr number = Halide::Expr();  // of a constant of one element: functions may ask for it

    Halide::Expr operator()(Index index) const {
        std::reverse(index.begin(), index.end());
        return f(index);
    }

    /** As numpy broadcasts it to more or larger dimensions. */
    Halide::Expr broadcast(const Index &index) const {
        if (number.defined()) {
            return number;
        }
        const size_t skipped = index.size() - shape.size();
        Index own;
        for (size_t d = 0; d < shape.size(); d++) {
            own.push_back(Halide::Internal::is_const_one(shape[d]) ? Halide::Expr(0) : index[skipped + d]);
        }
        return (*this)(own);
    }
};

/** x0, x1, ... in the order of Halide. */
inline std::vector<Halide::Var> variables(size_t rank) {
    std::vector<Halide::Var> result;
    for (size_t d = 0; d < rank; d++) {
        result.emplace_back("x" + std::to_string(d));
    }
    return result;
}

inline Halide::Type type_of(const std::string &name) {
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

/** What sums of a type are added up in. */
inline Halide::Type sum_type(const Halide::Type &t) {
    return t.is_float() && t.bits() < 32 ? Halide::Float(32) : t;
}

/** A node: what the file says of it, and its inputs. */
struct Node {
    const nlohmann::json &json;
    std::vector<const Tensor *> in;
    const SizeReader &reader;

    // Halide's own name of a Func may have a number behind it.
    std::string name() const {
        return json.at("name");
    }
    std::vector<int> list(const char *field) const {
        return json.at(field).get<std::vector<int>>();
    }
    Index sizes(const char *field) const {
        return reader.read_all(json.at(field));
    }
};

}  // namespace halyard

#endif
