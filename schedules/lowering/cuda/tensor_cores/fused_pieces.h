#ifndef HALYARD_LOWERING_CUDA_FUSED_PIECES_H
#define HALYARD_LOWERING_CUDA_FUSED_PIECES_H

/** \file
 * What is computed between two fused products, divided where the operand of the second one is made piece by piece while it is multiplied. What else goes
 * over the same elements is done there: sums that lanes have for themselves. What needs those comes behind.
 *
 *   p = exp2(s - m)                 for each piece:
 *   t = t * g + sum(p)       ->       p = exp2(s - m); t += p; y += p * v
 *   y = y * g + p * v               (t and y are multiplied by g before)
 */

#include <vector>

#include "lowering/cuda/tensor_cores/fused_parts.h"

namespace halyard {

struct FusedPieces {
    std::vector<FusedNest> early, pieces, behind;
};

/** Of the nests between the products; `waiting` come after `meanwhile`. All are empty where nothing can be made in pieces: where conditions on
 * columns are left in the nests, which then stand twice, and where what needs the sums is multiplied. */
FusedPieces in_pieces(const FusedParts &parts, const std::vector<FusedNest> &meanwhile, const std::vector<FusedNest> &waiting);

}  // namespace halyard

#endif
