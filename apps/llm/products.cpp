#include "products.h"

#include <halyard/blocks.h>
#include <halyard/runtime.h>

#include <algorithm>
#include <new>
#include <stdexcept>

#include "view.h"

namespace halyard_llm {

namespace {

bool is_half(TensorType type) {
    return type == TensorType::kF16 || type == TensorType::kBF16;
}

bool is_interleaved(TensorType type) {
    return is_half(type) || is_integers(type);
}

}  // namespace

bool is_integers(TensorType type) {
    return block_size(type)->elements > 1;
}

BlockSize interleaved_block(TensorType type) {
    constexpr int kBlock = 32;
    const BlockSize &size = *block_size(type);
    return is_integers(type) ? size : BlockSize{size.name, kBlock, kBlock * size.bytes};
}

Panels panels_of(TensorType type, int k, int n) {
    const BlockSize size = interleaved_block(type);
    return {halyard_interleaved_bytes(int(size.bytes)) * kInterleaved, k / size.elements, (int64_t(n) + kInterleaved - 1) / kInterleaved};
}

Product::Product(const std::vector<const Matrix *> &matrices, bool joined) {
    for (size_t i = 0; i < matrices.size();) {
        const Matrix &first = *matrices[i];
        std::vector<const Matrix *> same;
        for (; i < matrices.size() && (same.empty() || (joined && is_interleaved(first.type) && matrices[i]->type == first.type)); i++) {
            same.push_back(matrices[i]);
            columns_ += matrices[i]->n;
        }
        if (is_interleaved(first.type)) {
            add_interleaved(same);
        } else {
            parts_.push_back({first.k, first.n, first.type, first.data, false});
        }
    }
}

void Product::add_interleaved(const std::vector<const Matrix *> &matrices) {
    const Matrix &first = *matrices.front();
    const BlockSize size = interleaved_block(first.type);
    const int64_t blocks = first.k / size.elements, column = blocks * size.bytes;
    int n = 0;
    for (const Matrix *m : matrices) {
        n += m->n;
    }
    const uint8_t *plain = first.data;
    std::vector<uint8_t> joined;
    if (matrices.size() > 1) {
        for (const Matrix *m : matrices) {
            joined.insert(joined.end(), m->data, m->data + m->n * column);
        }
        plain = joined.data();
    }
    constexpr size_t kLine = 64;
    const Panels p = panels_of(first.type, first.k, n);
    memory_.emplace_back(static_cast<uint8_t *>(std::aligned_alloc(kLine, (size_t(p.all()) + kLine) / kLine * kLine)));
    uint8_t *memory = memory_.back().get();
    if (!memory) {
        throw std::bad_alloc();
    }
    BufferView<3> from(kByteType, plain, dim(size.bytes, 1), dim(blocks, size.bytes), dim(n, column));
    BufferView<3> to(kByteType, memory, dim(p.bytes, 1), dim(p.blocks, p.bytes), dim(p.panels, p.blocks * p.bytes));
    if (halyard_interleave_blocks(from, to) != 0) {
        throw std::runtime_error(halyard_last_error());
    }
    parts_.push_back({first.k, n, first.type, memory, true});
}

LayerProducts::LayerProducts(const Layer &layer, bool joined)
    : query_key_value({&layer.query, &layer.key, &layer.value}, joined), attention_output({&layer.attention_output}, joined),
      gate_up({&layer.gate, &layer.up}, joined), down({&layer.down}, joined) {
    if (layer.query_bias.empty() && layer.key_bias.empty() && layer.value_bias.empty()) {
        return;
    }
    const auto add = [&](const std::vector<float> &values, int n) {
        bias.insert(bias.end(), values.begin(), values.end());
        bias.resize(bias.size() + size_t(n) - values.size());
    };
    add(layer.query_bias, layer.query.n);
    add(layer.key_bias, layer.key.n);
    add(layer.value_bias, layer.value.n);
}

Products::Products(const Weights &weights, bool joined) : head({&weights.head}, joined) {
    layers.reserve(weights.layers.size());
    for (const Layer &layer : weights.layers) {
        layers.emplace_back(layer, joined);
    }
}

}  // namespace halyard_llm
