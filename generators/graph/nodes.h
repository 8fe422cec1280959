#ifndef HALYARD_GRAPH_NODES_H
#define HALYARD_GRAPH_NODES_H

/** \file
 * Nodes of a graph as Funcs, one each.
 */

#include "graph/maps.h"
#include "graph/moves.h"
#include "graph/products.h"
#include "graph/reductions.h"
#include "graph/tensor.h"

namespace halyard {

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

    Index shape_of(const nlohmann::json &shape) const {
        return sizes_.read_all(shape);
    }

    void add(const nlohmann::json &node) {
        using namespace Halide;
        const std::string name = node.at("name"), op = node.at("op");
        Tensor t{Func(name), type_of(node.at("type")), shape_of(node.at("shape"))};
        const std::vector<Var> vars = variables(t.shape.size());
        const Index index(vars.rbegin(), vars.rend());
        const Node n = node_of(node);
        if (op == "map") {
            Arguments arguments;
            for (const Tensor *i : n.in) {
                arguments.push_back(i->broadcast(index));
            }
            t.f(vars) = map_elements(node.at("fn"), arguments, t.type);
        } else if (op == "reduce") {
            reduce(n, t, vars, index);
        } else if (op == "arg") {
            arg(n, t, vars, index);
        } else if (op == "cumsum") {
            cumsum(n, t, vars, index);
        } else if (op == "matmul") {
            matmul(n, t, vars, index);
        } else if (op == "conv" || op == "conv_transpose" || op == "pool") {
            window(n, t, vars, index, op);
        } else {
            const Expr value = moved(n, op, t, index);
            t.f(vars) = value;
            t.number = Internal::is_const(value) ? value : Expr();
        }
        tensors_[name] = t;
    }

    Node node_of(const nlohmann::json &node) const {
        Node n{node, {}, sizes_};
        for (const auto &i : node.at("in")) {
            n.in.push_back(&at(i));
        }
        return n;
    }

private:
    SizeReader sizes_;
    std::map<std::string, Tensor> tensors_;
};

/** Whether a node puts rows behind each other, as images with channels innermost do. */
inline bool joins_parts(const nlohmann::json &node) {
    const size_t most_parts = 16;  // as scripts/models/schedule.py has it
    return node.at("op") == "concat" &&
           (node.at("axis").get<size_t>() + 1 == node.at("shape").size() || node.at("in").size() <= most_parts);
}

/** The result of such a node, part by part, an update over "part0", "part1", ... each: none asks where it ends. */
inline void join_parts(const nlohmann::json &node, const GraphNodes &made, Halide::Func out) {
    using namespace Halide;
    const Node n = made.node_of(node);
    const std::vector<Var> vars = variables(node.at("shape").size());
    out(vars) = undef(type_of(node.at("type")));
    const size_t axis = node.at("axis"), place = vars.size() - 1 - axis;
    Expr begin = 0;
    for (size_t i = 0; i < n.in.size(); i++) {
        const Expr extent = n.in[i]->shape[axis];
        const RDom r(0, extent, "part" + std::to_string(i));
        std::vector<Expr> from(vars.begin(), vars.end()), to = from;
        from[place] = r;
        to[place] = begin + r;
        out(to) = n.in[i]->f(from);
        begin = begin + extent;
    }
}

}  // namespace halyard

#endif
