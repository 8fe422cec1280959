#ifndef MINILM_PART_ENCODER_H
#define MINILM_PART_ENCODER_H

/** \file
 * Some sentences' embeddings on the host.
 */

#include "aligned.h"
#include "batch.h"
#include "kernels.h"
#include "model.h"

namespace minilm {

/** The layers, one after the other, on what a batch or a part of it holds. */
class PartEncoder {
public:
    /** The model and the kernels are of one precision and have to outlive it. */
    PartEncoder(const Model &model, const Kernels &kernels);

    /** Write result[sentences][hidden]. Allocates nothing once a batch of as many tokens has been seen. */
    void encode(const TokenBatch &batch, float *result);

private:
    void reserve(int tokens);
    void embed(const TokenBatch &batch);
    void attend(const TokenBatch &batch);
    void finish_layer(const Layer &layer, int rows);

    void linear(Kernels::Linear kernel, const char *what, const void *a, const Linear &weights, int rows, void *y);
    void linear_residual(const void *a, const Linear &weights, const void *residual, int rows, float *y);
    void layer_norm(const float *x, const Norm &norm, int rows, void *y);
    float *sums() {
        return reinterpret_cast<float *>(sum_.data());
    }

    const Model &model_;
    const Kernels &kernels_;
    Precision precision_;

    // Rows of tokens: the residual stream, query | key | value, attention's
    // result, sums that wait for their LayerNorm, the feed-forward's inside.
    // The sums are f32.
    AlignedBlock x_, qkv_, context_, sum_, inner_;
};

}  // namespace minilm

#endif
