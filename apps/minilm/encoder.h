#ifndef MINILM_ENCODER_H
#define MINILM_ENCODER_H

/** \file
 * Token ids to sentence embeddings on the host.
 */

#include "aligned.h"
#include "batch.h"
#include "kernels.h"
#include "model.h"
#include "sentence_encoder.h"

namespace minilm {

class Encoder : public SentenceEncoder {
public:
    /** What lies behind the attention is computed block_rows tokens at a time, so
     * that the feed-forward rows (1536 numbers a token) are still in cache when
     * they are read, and the scratch memory for them is bounded. */
    static constexpr int default_block_rows = 1024;

    /** The model and the kernels are of one precision and have to outlive the encoder. */
    Encoder(const Model &model, const Kernels &kernels, int block_rows = default_block_rows);

    /** Allocates nothing once a batch of as many tokens has been seen. */
    void encode(const TokenBatch &batch, float *result) override;

private:
    void reserve(int tokens);
    void embed(const TokenBatch &batch);
    void attend(const TokenBatch &batch);
    void finish_layer(const Layer &layer, int first, int rows);

    void linear(Kernels::Linear kernel, const char *what, const void *a, const Linear &weights,
                int rows, void *y);
    void linear_residual(const void *a, const Linear &weights, const void *residual, int rows,
                         float *y);
    void layer_norm(const float *x, const Norm &norm, int rows, void *y);
    float *sums() {
        return reinterpret_cast<float *>(sum_.data());
    }

    const Model &model_;
    const Kernels &kernels_;
    Precision precision_;
    int block_rows_;

    // Rows of tokens: the residual stream, query | key | value, attention's
    // result, sums that wait for their LayerNorm, the feed-forward's inside.
    // The sums are f32.
    AlignedBlock x_, qkv_, context_, sum_, inner_;
};

}  // namespace minilm

#endif
