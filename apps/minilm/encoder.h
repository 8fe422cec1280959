#ifndef MINILM_ENCODER_H
#define MINILM_ENCODER_H

/** \file
 * Token ids to sentence embeddings on the host.
 */

#include <memory>
#include <vector>

#include "batch.h"
#include "kernels.h"
#include "model.h"
#include "part_encoder.h"
#include "sentence_encoder.h"

namespace minilm {

class Encoder : public SentenceEncoder {
public:
    /** A batch goes through all layers in parts of about so many tokens: what a part has between its layers stays in cache,
     * and the scratch memory is bounded. */
    static constexpr int default_part_tokens = 256;

    /** The model and the kernels are of one precision and have to outlive the encoder. */
    Encoder(const Model &model, const Kernels &kernels, int part_tokens = default_part_tokens);

    /** Allocates nothing once a batch of as many tokens has been seen. */
    void encode(const TokenBatch &batch, float *result) override;

private:
    struct Run;

    /** What a thread computes in, and the part that it has. */
    struct Lane {
        PartEncoder encoder;
        TokenBatch part;
    };

    bool split(const TokenBatch &batch, int threads, int lanes);
    void run_part(const TokenBatch &batch, int part, Lane *lane, float *result);

    const Model &model_;
    const Kernels &kernels_;
    int part_tokens_;
    std::vector<int> ends_;  // the sentence after each part
    std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace minilm

#endif
