// Any graph of elementwise functions, reductions, products, windows and moves, as data: the nodes stand in a file.
//
// It is no op of the registry: `halyard compile` writes the file, names this generator, and gives it a schedule of its own.
//
//     {"sizes": ["batch"],
//      "inputs": [{"name": "in0", "type": "float32", "shape": ["batch", 12]}],
//      "nodes": [{"name": "node0", "op": "map", "fn": "exp", "in": ["in0"], "type": "float32", "shape": ["batch", 12]}],
//      "outputs": ["node0"]}
//
// Its arguments are the sizes, the inputs and for each output an out0, out1, ...: arrays that lie dense. No name is a letter and a number, as those that Halide makes up.

#include <fstream>

#include <Halide.h>
#include <nlohmann/json.hpp>

#include "graph/nodes.h"

namespace {

using namespace Halide;
using namespace halyard;
using nlohmann::json;

class Graph : public Generator<Graph> {
public:
    GeneratorParam<std::string> nodes{"nodes", ""};  // the file

    void configure() {
        if (nodes.value().empty()) {  // somebody asks what parameters there are
            outputs_.push_back(add_output<Buffer<>>("out0", Float(32), 1));
            return;
        }
        std::ifstream file(nodes.value());
        graph_ = json::parse(file, nullptr, false);
        if (!graph_.is_object()) {
            throw CompileError(nodes.value() + " is no graph");
        }
        for (const auto &s : graph_.at("sizes")) {
            sizes_.emplace_back(s.get<std::string>(), add_input<int32_t>("size_" + s.get<std::string>()));
        }
        for (const auto &i : graph_.at("inputs")) {
            inputs_.push_back(add_input<Buffer<>>(i.at("name"), type_of(i.at("type")), int(i.at("shape").size())));
        }
        for (size_t i = 0; i < graph_.at("outputs").size(); i++) {
            const json &v = value(graph_.at("outputs")[i]);
            outputs_.push_back(add_output<Buffer<>>("out" + std::to_string(i), type_of(v.at("type")), int(v.at("shape").size())));
        }
    }

    void generate() {
        if (nodes.value().empty()) {
            (*outputs_[0])(Var("x0")) = 0.0f;
            return;
        }
        std::map<std::string, Expr> dimensions;
        for (const auto &[name, size] : sizes_) {
            dimensions[name] = *size;
        }
        GraphNodes made{SizeReader(dimensions)};
        for (size_t i = 0; i < inputs_.size(); i++) {
            const json &v = graph_.at("inputs")[i];
            const Index shape = made.shape_of(v.at("shape"));
            made.add_input(v.at("name"), {*inputs_[i], type_of(v.at("type")), shape});
            lie_dense(*inputs_[i], shape);
        }
        // On a GPU a thread that asks where a part ends costs less than a kernel for each part.
        const json &nodes = graph_.at("nodes");
        const bool by_parts = outputs_.size() == 1 && !get_target().has_gpu_feature();
        const Joined joined = by_parts ? joined_parts(nodes, graph_.at("outputs")[0]) : Joined();
        for (const auto &n : nodes) {
            if (&n != joined.concat && joined.behind.count(n.at("name")) == 0) {
                made.add(n);
            }
        }
        if (joined.concat != nullptr) {
            join_parts(nodes, joined, graph_.at("outputs")[0], made, *outputs_[0]);
            lie_dense(*outputs_[0], made.shape_of(joined.concat->at("shape")));
            return;
        }
        for (size_t i = 0; i < outputs_.size(); i++) {
            const Tensor &t = made.at(graph_.at("outputs")[i]);
            const auto vars = variables(t.shape.size());
            (*outputs_[i])(vars) = t.f(vars);
            lie_dense(*outputs_[i], t.shape);
        }
    }

private:
    const json &value(const std::string &name) const {
        for (const char *kind : {"inputs", "nodes"}) {
            for (const auto &v : graph_.at(kind)) {
                if (v.at("name") == name) {
                    return v;
                }
            }
        }
        throw CompileError("the graph has no value \"" + name + "\"");
    }

    template<typename B>
    static void lie_dense(B &buffer, const Index &shape) {
        Expr stride = 1;
        for (size_t d = 0; d < shape.size(); d++) {
            const Expr &extent = shape[shape.size() - 1 - d];
            buffer.dim(int(d)).set_bounds(0, extent).set_stride(stride);
            stride = stride * extent;
        }
    }

    json graph_;
    std::vector<std::pair<std::string, Input<int32_t> *>> sizes_;
    std::vector<Input<Buffer<>> *> inputs_;
    std::vector<Output<Buffer<>> *> outputs_;
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Graph, graph)
