#ifndef MINILM_CUDA_ENCODER_H
#define MINILM_CUDA_ENCODER_H

/** \file
 * Token ids to sentence embeddings on a GPU, in bf16.
 */

#include <vector>

#include "../buffer_view.h"
#include "../model.h"
#include "../sentence_encoder.h"
#include "common/device_block.h"

namespace minilm {

using halyard_apps::DeviceBlock;

/** Weights and activations stay on the device: ids go there, embeddings come back, and nothing in between
 * waits. Sentences are padded to the longest of their batch, so that one call has the attention of all. */
class CudaEncoder : public SentenceEncoder {
public:
    /** The model is in bf16, its weights whole matrices. It is copied. */
    explicit CudaEncoder(const Model &model);

    void encode(const TokenBatch &batch, float *result) override;

private:
    void upload(const TokenBatch &batch);
    void embed();
    void run_layer(const Layer &layer);
    void attend();
    void pool();

    /** Of the weights on the device, what lies at an address of the model's block. */
    uint64_t on_device(const void *weights) const;

    using LinearKernel = int (*)(halide_buffer_t *a, halide_buffer_t *b, halide_buffer_t *bias, halide_buffer_t *y);
    struct LinearKernels {
        LinearKernel small, many;  // by how many tiles there are
    };
    void linear(LinearKernels kernels, const char *what, const DeviceBlock &a, const Linear &weights, const DeviceBlock &y);
    void linear_residual(const DeviceBlock &a, const Linear &weights);
    void layer_norm(const Norm &norm);

    Config config_;
    std::vector<Layer> layers_;
    Norm embedding_norm_;
    const char *block_;
    const float *positions_;
    DeviceBlock weights_, words_;

    // The batch: its sentences, the longest one, and lengths and ids one behind the other.
    int sentences_ = 0, length_ = 0;
    size_t ids_at_ = 0;
    std::vector<int32_t> inputs_;

    // Rows of tokens as the host's encoder has them, and the embeddings.
    DeviceBlock device_inputs_, x_, qkv_, context_, sum_, inner_, result_;
};

}  // namespace minilm

#endif
