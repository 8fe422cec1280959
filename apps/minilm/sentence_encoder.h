#ifndef MINILM_SENTENCE_ENCODER_H
#define MINILM_SENTENCE_ENCODER_H

/** \file
 * Token ids to sentence embeddings, on whatever computes them.
 */

#include "batch.h"
#include "config.h"

namespace minilm {

class SentenceEncoder {
public:
    virtual ~SentenceEncoder() = default;

    /** Write result[sentences][hidden]. Throws std::runtime_error if a kernel fails, std::invalid_argument
     * as check_batch() does. */
    virtual void encode(const TokenBatch &batch, float *result) = 0;
};

/** Throws std::invalid_argument for a sentence or a token that the model does not take. */
void check_batch(const TokenBatch &batch, const Config &config);

}  // namespace minilm

#endif
