#ifndef HALYARD_LOWERING_CUDA_WGMMA_H
#define HALYARD_LOWERING_CUDA_WGMMA_H

/** \file
 * The instruction of sm_90a's tensor cores for the width of a tile, as a function of the printed kernels.
 */

#include <string>

#include "product.h"

namespace halyard {

/** `wgmma_n256_bfloat16_across` */
std::string wgmma_function(const TileOfProduct &tile);

std::string wgmma_text(const TileOfProduct &tile);

}  // namespace halyard

#endif
