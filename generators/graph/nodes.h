#ifndef HALYARD_GRAPH_NODES_H
#define HALYARD_GRAPH_NODES_H

/** \file
 * Nodes of a graph as Funcs, one each.
 */

#include <set>
#include <string>

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
        } else if (op == "scatter") {
            scatter(n, t, vars, index);
        } else if (op == "matmul") {
            n.in.size() == 4 ? matmul_int8(n, t, vars, index) : matmul(n, t, vars, index);
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

/** A Concat, and the functions of elements behind it that its parts can be put through one by one. */
struct Joined {
    const nlohmann::json *concat = nullptr;
    std::set<std::string> behind;
};

/** The last such node of a graph with this result; none where the result is more than that (schedule.py finds the same one). */
inline Joined joined_parts(const nlohmann::json &nodes, const std::string &result) {
    const size_t most_parts = 16;  // where they do not lie within rows
    Joined found;
    for (const auto &c : nodes) {
        if (c.at("op") != "concat" || (c.at("axis").get<size_t>() + 1 < c.at("shape").size() && c.at("in").size() > most_parts)) {
            continue;
        }
        std::set<std::string> behind = {c.at("name")};
        bool fits = true;
        for (const auto &n : nodes) {
            const bool depends = std::any_of(n.at("in").begin(), n.at("in").end(), [&](const auto &i) { return behind.count(i) != 0; });
            if (depends) {
                fits = fits && n.at("op") == "map" && n.at("shape") == c.at("shape");
                behind.insert(n.at("name"));
            }
        }
        if (fits && behind.count(result) != 0) {
            behind.erase(c.at("name"));
            found = {&c, behind};
        }
    }
    return found;
}

/** The result of such a graph, part by part, an update over "part0", "part1", ... each: none asks where it ends. `made` has the nodes
 * before. */
inline void join_parts(const nlohmann::json &nodes, const Joined &joined, const std::string &result, const GraphNodes &made,
                       Halide::Func out) {
    using namespace Halide;
    const nlohmann::json &concat = *joined.concat;
    const Node n = made.node_of(concat);
    const std::vector<Var> vars = variables(concat.at("shape").size());
    const size_t axis = concat.at("axis"), place = vars.size() - 1 - axis;
    Expr begin = 0;
    for (size_t i = 0; i < n.in.size(); i++) {
        // The part where it will stand, and what is behind it.
        Tensor part{Func(n.name() + "_part" + std::to_string(i)), type_of(concat.at("type")), made.shape_of(concat.at("shape"))};
        std::vector<Expr> from(vars.begin(), vars.end()), to = from;
        from[place] = vars[place] - begin;
        part.f(vars) = n.in[i]->f(from);
        GraphNodes own = made;
        own.add_input(concat.at("name"), part);
        for (const auto &m : nodes) {
            if (joined.behind.count(m.at("name")) != 0) {
                own.add(m);
            }
        }
        const Tensor &value = own.at(result);
        if (i == 0) {
            out(vars) = undef(value.type);
        }
        const RDom r(0, n.in[i]->shape[axis], "part" + std::to_string(i));
        to[place] = begin + r;
        out(to) = value.f(to);
        begin = begin + n.in[i]->shape[axis];
    }
}

}  // namespace halyard

#endif
