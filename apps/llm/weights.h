#ifndef HALYARD_LLM_WEIGHTS_H
#define HALYARD_LLM_WEIGHTS_H

/** \file
 * The weights of a model: matrices as they lie in the file where kernels read them so and nothing else is asked for, else copies in f32 or bf16.
 */

#include <memory>
#include <vector>

#include "config.h"
#include "gguf.h"

namespace halyard_llm {

/** n columns of k elements: a row of k times it is a row of n. */
struct Matrix {
    int k = 0, n = 0;
    TensorType type = TensorType::kF32;  // Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K, F16, BF16 or F32
    const uint8_t *data = nullptr;
    std::vector<uint8_t> copy;  // where it does not lie in the file

    bool there() const {
        return data != nullptr;
    }
};

/** What matrices are multiplied as: what they are in the file, or what is made of that. */
enum class MatrixType { kOfFile, kF32, kBF16 };

struct Layer {
    std::vector<float> attention_norm, query_norm, key_norm, after_attention, product_norm, after_product;
    Matrix query, key, value, attention_output;
    std::vector<float> query_bias, key_bias, value_bias;
    Matrix gate, up, down;
};

struct Weights {
    /** Throws std::runtime_error where a tensor is missing, or has another shape or type than it should. */
    Weights(const Gguf &file, const Config &config, MatrixType type);

    const Tensor *words = nullptr;  // the embeddings of tokens
    std::vector<Layer> layers;
    std::vector<float> output_norm;
    Matrix head;
    std::vector<float> frequencies, local_frequencies;  // of rotary positions
};

}  // namespace halyard_llm

#endif
