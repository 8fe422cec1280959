#ifndef HALYARD_LOWERING_CUDA_FUSED_MASK_H
#define HALYARD_LOWERING_CUDA_FUSED_MASK_H

/** \file
 * Conditions of fused products that are the same for whole tiles, as a causal mask is beside its diagonal.
 */

#include "lowering/cuda/tensor_cores/fused_parts.h"

namespace halyard {

/** A condition on the sums of the first product, as a mask is. */
struct Mask {
    Halide::Expr value;  // what they become; undefined where there is none
    Halide::Expr whole;  // when that is the same for a whole tile
};

/** Where nests read the sums of the first product only as select(condition, sum, x), always the same, with a condition on
 * rows, or if `any` on columns alone: takes that out of the nests, so that they read what it makes of the sums. */
Mask take_mask(std::vector<FusedNest> &nests, const FusedParts &parts, bool any);

/** The condition under which all selects of nests take one side in a whole tile, and the nests without them. Undefined
 * where there are none. */
Halide::Expr without_selects(const std::vector<FusedNest> &nests, int rows, std::vector<FusedNest> *without);

}  // namespace halyard

#endif
