#ifndef HALYARD_LOWERING_CUDA_UNSWITCHED_BLOCKS_H
#define HALYARD_LOWERING_CUDA_UNSWITCHED_BLOCKS_H

/** \file
 * Blocks for all of whose threads there is something to do, which most are, do not ask for each vector:
 *
 *   for chunk < n: if ((chunk * 512 + thread_x) * 8 + 8 <= extent) y[..] = x[..]
 *     ->
 *   if (((n - 1) * 512 + 511) * 8 + 8 <= extent) for chunk < n: y[..] = x[..]
 *   else for chunk < n: if ((chunk * 512 + thread_x) * 8 + 8 <= extent) y[..] = x[..]
 *
 * Loads behind conditions of their own wait for each other, in particular those that stand between stores, and the conditions are
 * instructions: LayerNorm 8192x32768 with rows in shared memory had 29 for each element, and took 335 us; 17, with pairs
 * converted in their registers (device/vectors.h), take 294 (H200).
 */

#include "lowering/cuda/extract/kernel.h"

namespace halyard {

/** Rewrites a body that reuse_in_registers() has been over, where such conditions are found. */
void unswitch_blocks(Kernel &kernel);

}  // namespace halyard

#endif
