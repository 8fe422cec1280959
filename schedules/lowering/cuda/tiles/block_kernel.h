#ifndef HALYARD_LOWERING_CUDA_BLOCK_KERNEL_H
#define HALYARD_LOWERING_CUDA_BLOCK_KERNEL_H

/** \file
 * A block program as a kernel, for sm_90a or for sm_80 and later: which warps do what, with which instructions.
 */

#include <string>

#include "lowering/cuda/tiles/block_program.h"

namespace halyard {

/** Who moves tiles into shared memory: TMA; threads 16 bytes at a time, by cp.async; or threads element by element, from any address. */
enum class Fetching { kEngine, kChunks, kElements };

/** `program` is to stay where it is until then. Throws through fail() of its products. */
TileKernel make_block_kernel(const BlockProgram &program, const Kernel &base, const Strides &strides, const PrintOptions &print,
                             bool hopper);

}  // namespace halyard

#endif
