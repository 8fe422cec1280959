#include "model.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace minilm {

namespace {

/** Rounded up so that whatever follows starts a cache line. */
size_t aligned(size_t bytes) {
    constexpr size_t line = 64;
    return (bytes + line - 1) / line * line;
}

/** Every tensor that the model takes has to be there before memory is asked for by the numbers of config.json. */
void require_tensors(const SafeTensors &file, const Config &c) {
    const auto norm = [&](const std::string &prefix) {
        file.require(prefix + ".weight", {c.hidden});
        file.require(prefix + ".bias", {c.hidden});
    };
    const auto linear = [&](const std::string &prefix, int n, int k) {
        file.require(prefix + ".weight", {n, k});
        file.require(prefix + ".bias", {n});
    };
    file.require("embeddings.word_embeddings.weight", {c.vocabulary, c.hidden});
    file.require("embeddings.position_embeddings.weight", {c.max_positions, c.hidden});
    file.require("embeddings.token_type_embeddings.weight", {c.token_types, c.hidden});
    norm("embeddings.LayerNorm");
    for (int l = 0; l < c.layers; l++) {
        const std::string at = fmt::format("encoder.layer.{}.", l);
        for (const char *part : {"query", "key", "value"}) {
            linear(at + "attention.self." + part, c.hidden, c.hidden);
        }
        linear(at + "attention.output.dense", c.hidden, c.hidden);
        norm(at + "attention.output.LayerNorm");
        linear(at + "intermediate.dense", c.intermediate, c.hidden);
        linear(at + "output.dense", c.hidden, c.intermediate);
        norm(at + "output.LayerNorm");
    }
}

size_t arena_size(const SafeTensors &file, const Config &c, int panel, Precision precision) {
    require_tensors(file, c);
    const size_t bytes = bytes_of(precision);
    const auto linear = [&](int n, int k) {
        return aligned(packed_size(n, k, packing_of(precision, n, panel)) * bytes) + aligned(size_t(n) * bytes);
    };
    const size_t norm = 2 * aligned(size_t(c.hidden) * sizeof(float));
    const size_t layer = linear(3 * c.hidden, c.hidden) + linear(c.hidden, c.hidden) + linear(c.intermediate, c.hidden) +
                         linear(c.hidden, c.intermediate) + 2 * norm;
    return size_t(c.layers) * layer + norm + aligned(size_t(c.max_positions) * size_t(c.hidden) * sizeof(float));
}

}  // namespace

Model::Model(const std::string &model_directory, const Config &config, int panel, Precision precision)
    : config_(config), precision_(precision), file_(model_directory + "/model.safetensors"),
      arena_(arena_size(file_, config, panel, precision)) {
    const int hidden = config.hidden;
    word_embeddings_ = file_.floats("embeddings.word_embeddings.weight", {config.vocabulary, hidden});

    const FloatTensor positions = file_.floats("embeddings.position_embeddings.weight", {config.max_positions, hidden});
    const FloatTensor types = file_.floats("embeddings.token_type_embeddings.weight", {config.token_types, hidden});
    auto *sums = reinterpret_cast<float *>(take(size_t(config.max_positions) * size_t(hidden) * sizeof(float)));
    for (int p = 0; p < config.max_positions; p++) {
        for (int i = 0; i < hidden; i++) {
            const size_t at = size_t(p) * size_t(hidden) + size_t(i);
            sums[at] = positions.data[at] + types.data[i];
        }
    }
    positions_ = sums;
    embedding_norm_ = read_norm("embeddings.LayerNorm");

    for (int l = 0; l < config.layers; l++) {
        const std::string at = fmt::format("encoder.layer.{}.", l);
        const std::string self = at + "attention.self.";
        Layer layer;
        layer.qkv = read_linear({self + "query", self + "key", self + "value"}, hidden, hidden, panel);
        layer.attention_output = read_linear({at + "attention.output.dense"}, hidden, hidden, panel);
        layer.attention_norm = read_norm(at + "attention.output.LayerNorm");
        layer.up = read_linear({at + "intermediate.dense"}, config.intermediate, hidden, panel);
        layer.down = read_linear({at + "output.dense"}, hidden, config.intermediate, panel);
        layer.output_norm = read_norm(at + "output.LayerNorm");
        layers_.push_back(layer);
    }
}

char *Model::take(size_t bytes) {
    const size_t at = arena_used_;
    arena_used_ += aligned(bytes);
    if (arena_used_ > arena_.capacity()) {
        throw std::logic_error("minilm: the weights' arena is too small");
    }
    return arena_.data() + at;
}

const float *Model::vector_of(const std::string &name, int n) {
    const FloatTensor values = file_.floats(name, {n});
    auto *copy = reinterpret_cast<float *>(take(size_t(n) * sizeof(float)));
    std::copy_n(values.data, n, copy);
    return copy;
}

Norm Model::read_norm(const std::string &prefix) {
    Norm norm;
    norm.weight = vector_of(prefix + ".weight", config_.hidden);
    norm.bias = vector_of(prefix + ".bias", config_.hidden);
    return norm;
}

Linear Model::read_linear(const std::vector<std::string> &prefixes, int n_each, int k, int panel) {
    Linear linear;
    linear.n = n_each * int(prefixes.size());
    linear.k = k;
    const Packing packing = packing_of(precision_, linear.n, panel);
    linear.panel = packing.panel;
    const size_t size = packed_size(linear.n, k, packing) * bytes_of(precision_);
    char *packed = take(size);
    void *bias = take(size_t(linear.n) * bytes_of(precision_));
    std::fill_n(packed, size, char(0));
    int first = 0;
    for (const std::string &prefix : prefixes) {
        const FloatTensor weight = file_.floats(prefix + ".weight", {n_each, k});
        pack_rows(precision_, weight.data, n_each, k, first, packing, packed);
        const FloatTensor values = file_.floats(prefix + ".bias", {n_each});
        store(precision_, values.data, size_t(n_each), element(precision_, bias, size_t(first)));
        first += n_each;
    }
    linear.packed = packed;
    linear.bias = bias;
    return linear;
}

}  // namespace minilm
