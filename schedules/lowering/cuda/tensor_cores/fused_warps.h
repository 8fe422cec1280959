#ifndef HALYARD_LOWERING_CUDA_FUSED_WARPS_H
#define HALYARD_LOWERING_CUDA_FUSED_WARPS_H

/** \file
 * Warps that share the steps of fused products, each with some of them, put together in the end what they carry from step to step.
 */

#include "lowering/cuda/print/print.h"
#include "lowering/cuda/tensor_cores/fused_nests.h"
#include "lowering/cuda/tensor_cores/fused_parts.h"

namespace halyard {

/** What another warp has of a value that is carried from step to step. */
std::string of_other_warp(const std::string &name);

/** The values that are carried, in the order in which they are computed. */
std::vector<std::string> carried(const FusedParts &parts);

/** Nests that add to what a warp has what another one has, of_other_warp(), as if it were what the products of a step left:
 *
 *   m' = max(m, x); t = t * exp2(m - m') + s * exp2(x - m'); m = m'
 *
 * where x and s are a step's, and in the nests another warp's m and t. Sums and maxima of which no exponentials are made may
 * be there as well. For rewrite_fused(), which rewrites the nests with all others once it knows what is one a row; throws through
 * fail() of the first product where the steps are something else. Another warp's values become held ones. */
std::vector<FusedNest> put_together(FusedParts &parts);

/** Prints how the first warp takes in what the others have, one after the other, and goes on alone. It lies in place of the tiles: a lane's values
 * lie as many apart as there are lanes. In kernels that define lane and warp. */
void print_together(KernelPrinter &out, const FusedParts &parts, FusedNests &threads);

}  // namespace halyard

#endif
