#include "weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "dequantize.h"

namespace halyard_llm {

namespace {

// Arrays of kernels have fewer elements.
constexpr int64_t kMostElements = INT32_MAX;

std::vector<float> floats_of(const Gguf &file, const Tensor &tensor) {
    int64_t count = 1;
    for (const int64_t extent : tensor.shape) {
        count *= extent;
    }
    std::vector<float> result;
    result.resize(size_t(count));
    try {
        dequantize(tensor, 0, count, result.data());
    } catch (const std::runtime_error &e) {
        throw std::runtime_error(fmt::format("{}: tensor '{}': {}", shown(file.name()), shown(tensor.name), e.what()));
    }
    return result;
}

std::vector<float> vector_of(const Gguf &file, const std::string &name, int count) {
    return floats_of(file, file.tensor(name, {count}));
}

std::vector<float> vector_if_there(const Gguf &file, const std::string &name, int count) {
    return file.find(name) ? vector_of(file, name, count) : std::vector<float>();
}

// What a matrix becomes; of 16 bits, kernels take multiples of 32 elements.
TensorType type_as(MatrixType asked, TensorType of_file, int k) {
    constexpr int kBlock = 32;
    const TensorType type = asked == MatrixType::kF32 ? TensorType::kF32 : asked == MatrixType::kBF16 ? TensorType::kBF16 : of_file;
    switch (type) {
    case TensorType::kF16:
    case TensorType::kBF16: return k % kBlock == 0 ? type : TensorType::kF32;
    case TensorType::kQ4_0:
    case TensorType::kQ4_1:
    case TensorType::kQ5_0:
    case TensorType::kQ5_1:
    case TensorType::kQ8_0:
    case TensorType::kQ4_K:
    case TensorType::kQ5_K:
    case TensorType::kQ6_K: return type;
    default: return TensorType::kF32;
    }
}

float rounded_to_bf16(float value) {
    const uint32_t bits = uint32_t(float_to_bf16(value)) << 16;
    float rounded;
    std::memcpy(&rounded, &bits, sizeof(rounded));
    return rounded;
}

std::vector<uint8_t> bytes_of(const std::vector<float> &values, TensorType type) {
    std::vector<uint8_t> bytes(values.size() * size_t(block_size(type)->bytes));
    for (size_t i = 0; i < values.size(); i++) {
        if (type == TensorType::kBF16) {
            const uint16_t bits = float_to_bf16(values[i]);
            std::memcpy(&bytes[i * sizeof(bits)], &bits, sizeof(bits));
        } else {
            std::memcpy(&bytes[i * sizeof(float)], &values[i], sizeof(float));
        }
    }
    return bytes;
}

Matrix matrix_of(const Gguf &file, const std::string &name, int k, int n, MatrixType asked) {
    const Tensor &tensor = file.tensor(name, {k, n});
    Matrix matrix;
    matrix.k = k;
    matrix.n = n;
    if (int64_t(k) * n > kMostElements) {
        throw std::runtime_error(fmt::format("{}: tensor '{}' has {} elements, and kernels take {}", shown(file.name()), shown(name),
                                             int64_t(k) * n, kMostElements));
    }
    matrix.type = type_as(asked, tensor.type, k);
    const bool rounded = asked == MatrixType::kBF16 && tensor.type != TensorType::kBF16;  // also where f32 has to hold it
    if (matrix.type == tensor.type && !rounded) {
        matrix.data = tensor.data;
    } else {
        std::vector<float> values = floats_of(file, tensor);
        if (rounded) {
            std::transform(values.begin(), values.end(), values.begin(), rounded_to_bf16);
        }
        matrix.copy = bytes_of(values, matrix.type);
        matrix.data = matrix.copy.data();
    }
    return matrix;
}

/** Angles of pairs of elements a position: base^(-2 i / width), over a factor, and over those that the file may have. */
std::vector<float> frequencies_of(const Gguf &file, const Config &config, double base, double factor, bool by_file) {
    const int pairs = config.rope_width / 2;
    const std::vector<float> divisors = by_file ? vector_if_there(file, "rope_freqs.weight", pairs) : std::vector<float>();
    std::vector<float> result;
    for (int i = 0; i < pairs; i++) {
        const double divisor = divisors.empty() ? 1 : double(divisors[size_t(i)]);
        if (!(divisor > 0)) {
            file.fail("tensor 'rope_freqs.weight' has a factor that is not above 0");
        }
        result.push_back(float(std::pow(base, -2.0 * i / config.rope_width) / factor / divisor));
    }
    return result;
}

Layer layer_of(const Gguf &file, const Config &config, int index, MatrixType asked) {
    const std::string block = fmt::format("blk.{}.", index);
    const int queries = config.heads * config.head_width, keys = config.key_heads * config.head_width;
    const auto vector = [&](const char *name, int count) { return vector_of(file, block + name, count); };
    const auto maybe = [&](const char *name, int count) { return vector_if_there(file, block + name, count); };
    const auto matrix = [&](const char *name, int k, int n) { return matrix_of(file, block + name, k, n, asked); };
    Layer layer;
    layer.attention_norm = vector("attn_norm.weight", config.width);
    layer.query = matrix("attn_q.weight", config.width, queries);
    layer.key = matrix("attn_k.weight", config.width, keys);
    layer.value = matrix("attn_v.weight", config.width, keys);
    layer.query_bias = maybe("attn_q.bias", queries);
    layer.key_bias = maybe("attn_k.bias", keys);
    layer.value_bias = maybe("attn_v.bias", keys);
    layer.query_norm = maybe("attn_q_norm.weight", config.head_width);
    layer.key_norm = maybe("attn_k_norm.weight", config.head_width);
    layer.attention_output = matrix("attn_output.weight", queries, config.width);
    layer.after_attention = maybe("post_attention_norm.weight", config.width);
    layer.product_norm = vector("ffn_norm.weight", config.width);
    layer.gate = matrix("ffn_gate.weight", config.width, config.inner);
    layer.up = matrix("ffn_up.weight", config.width, config.inner);
    layer.down = matrix("ffn_down.weight", config.inner, config.width);
    layer.after_product = maybe("post_ffw_norm.weight", config.width);
    for (const char *unknown : {"attn_output.bias", "ffn_gate.bias", "ffn_up.bias", "ffn_down.bias", "attn_norm.bias", "ffn_norm.bias"}) {
        if (file.find(block + unknown)) {
            throw std::runtime_error(
                fmt::format("{}: tensor '{}{}' is not one of those that this program computes", shown(file.name()), block, unknown));
        }
    }
    return layer;
}

}  // namespace

Weights::Weights(const Gguf &file, const Config &config, MatrixType type) {
    words = &file.tensor("token_embd.weight", {config.width, config.vocabulary});
    std::vector<float> row;
    row.resize(size_t(block_size(words->type)->elements));
    try {
        dequantize(*words, 0, int64_t(row.size()), row.data());
    } catch (const std::runtime_error &e) {
        throw std::runtime_error(fmt::format("{}: tensor 'token_embd.weight': {}", shown(file.name()), e.what()));
    }
    for (int i = 0; i < config.layers; i++) {
        layers.push_back(layer_of(file, config, i, type));
    }
    output_norm = vector_of(file, "output_norm.weight", config.width);
    head = matrix_of(file, file.find("output.weight") ? "output.weight" : "token_embd.weight", config.width, config.vocabulary, type);
    frequencies = frequencies_of(file, config, double(config.rope_base), double(config.rope_factor), true);
    local_frequencies =
        config.local_rope_base > 0 ? frequencies_of(file, config, double(config.local_rope_base), 1, false) : std::vector<float>();
}

}  // namespace halyard_llm
