#ifndef HALYARD_LOWERING_CUDA_FUSED_KERNEL_H
#define HALYARD_LOWERING_CUDA_FUSED_KERNEL_H

/** \file
 * Kernels with two products, of which the second multiplies what was made of the first (fused_parts.h): a block has a tile
 * of rows, and goes over steps. The second product's operand is made of sums in registers, which lie as the tensor cores
 * want it, and never leaves them.
 *
 * Where pointers and strides are not what copies of 16 bytes take, the host calls a second kernel, in which the threads
 * fetch and store element by element.
 */

#include "lowering/cuda/tensor_cores/tile_kernel.h"

namespace halyard {

/** For sm_90a. A producer warp has TMA fetch the rows' tile once, and for each step the tiles of both other
 * operands, `stages` steps ahead. Warpgroups of 64 rows each start the first product of the next step and the second of this
 * one together, and compute what is between while the second is under way (FlashAttention-3, Shah et al. 2024).
 *
 * has_fused_products(kernel, products) holds; `host` and `strides` as of read_tile_program(). */
TileKernel make_wgmma_fused(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host, const Strides &strides,
                            const PrintOptions &print);

/** For sm_80 and all later ones: the threads fetch by cp.async, each operand while the other is multiplied, and warps have 16
 * or 32 rows of their own from the first product to the result (FlashAttention-2, Dao 2023). Of few rows (is_skinny()) on all
 * devices: each warp has all of them, fetches the tiles of both operands `stages` steps ahead, and where several share the steps,
 * takes every n-th (fused_warps.h). */
TileKernel make_mma_fused(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host, const Strides &strides,
                          const PrintOptions &print);

}  // namespace halyard

#endif
