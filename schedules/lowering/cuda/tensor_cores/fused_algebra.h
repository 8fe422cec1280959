#ifndef HALYARD_LOWERING_CUDA_FUSED_ALGEBRA_H
#define HALYARD_LOWERING_CUDA_FUSED_ALGEBRA_H

/** \file
 * Rewrites the parts of two fused products so that registers and tensor cores suit them; what is computed stays the
 * same but for rounding.
 */

#include "lowering/cuda/tensor_cores/fused_parts.h"

namespace halyard {

/** In this order:
 *
 * 1. Values of a tile that are the same in all columns are held one a row.
 * 2. The second product adds to the accumulator:
 *      out += p * c; acc = acc * g + out * f   ->   acc = acc * g; acc += (p * f) * c
 *    and the factor f of a row goes where p is computed, through sums over p that are multiplied by it as well:
 *      s = sum of p; t = t * g + s * f         ->   s = sum of (p * f); t = t * g + s
 * 3. exp2(x) * exp2(y) becomes exp2(x + y), without the terms that cancel.
 * 4. Factors that are the same everywhere are multiplied with each other first.
 * 5. What is the same in all columns is computed once a row, in nests of their own.
 * 6. A sum that goes on from step to step as t = t * g + s is summed over the lanes of a row once, after the last. */
void rewrite_fused(FusedParts &parts);

}  // namespace halyard

#endif
