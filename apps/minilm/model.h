#ifndef MINILM_MODEL_H
#define MINILM_MODEL_H

/** \file
 * The weights of a BERT encoder, in the form that the kernels want.
 */

#include <string>
#include <vector>

#include "aligned.h"
#include "config.h"
#include "pack.h"
#include "safetensors.h"

namespace minilm {

/** A packed matrix of k rows and n columns, and the bias of its n outputs. */
struct Linear {
    int n = 0, k = 0, panel = 0;
    const void *packed = nullptr;
    const void *bias = nullptr;
};

/** In f32 always. */
struct Norm {
    const float *weight = nullptr;
    const float *bias = nullptr;
};

struct Layer {
    Linear qkv;  // Query, key and value side by side: one GEMM.
    Linear attention_output;
    Norm attention_norm;
    Linear up, down;
    Norm output_norm;
};

class Model {
public:
    /** Reads model.safetensors of a model directory, and lays the weights in panels of so many columns, or as
     * whole_matrix. Throws std::runtime_error. */
    Model(const std::string &model_directory, const Config &config, int panel = default_panel, Precision precision = Precision::F32);

    const Config &config() const {
        return config_;
    }
    /** Of the matrices, their biases, and what they are multiplied with. */
    Precision precision() const {
        return precision_;
    }
    const std::vector<Layer> &layers() const {
        return layers_;
    }
    const Norm &embedding_norm() const {
        return embedding_norm_;
    }

    const float *word_embedding(int id) const {
        return word_embeddings_.data + size_t(id) * size_t(config_.hidden);
    }

    /** Position embedding plus that of token type 0, the only type there is. */
    const float *position_embedding(int position) const {
        return positions_ + size_t(position) * size_t(config_.hidden);
    }

    /** All of this but the words' embeddings lies in one block of memory. */
    const char *block() const {
        return arena_.data();
    }
    size_t block_bytes() const {
        return arena_used_;
    }

private:
    char *take(size_t bytes);
    const float *vector_of(const std::string &name, int n);
    Norm read_norm(const std::string &prefix);
    Linear read_linear(const std::vector<std::string> &prefixes, int n_each, int k, int panel);

    Config config_;
    Precision precision_;
    SafeTensors file_;
    FloatTensor word_embeddings_;

    AlignedBlock arena_;
    size_t arena_used_ = 0;
    const float *positions_ = nullptr;
    Norm embedding_norm_;
    std::vector<Layer> layers_;
};

}  // namespace minilm

#endif
