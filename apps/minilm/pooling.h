#ifndef MINILM_POOLING_H
#define MINILM_POOLING_H

/** \file
 * One unit vector a sentence from the vectors of its tokens.
 */

#include "batch.h"

namespace minilm {

/** For each sentence: the mean of its rows of x[tokens][width], scaled to length
 * 1, into result[sentences][width]. */
void mean_pool_and_normalize(const TokenBatch &batch, const float *x, int width, float *result);

}  // namespace minilm

#endif
