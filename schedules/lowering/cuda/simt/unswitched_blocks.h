#ifndef HALYARD_LOWERING_CUDA_UNSWITCHED_BLOCKS_H
#define HALYARD_LOWERING_CUDA_UNSWITCHED_BLOCKS_H

/** \file
 * A block in which all threads have something to do, as in most, does not ask for each vector:
 *
 *   for chunk < n: if ((chunk * 512 + thread_x) * 8 + 8 <= extent) y[..] = x[..]
 *     ->
 *   if (((n - 1) * 512 + 511) * 8 + 8 <= extent) for chunk < n: y[..] = x[..]
 *   else for chunk < n: if ((chunk * 512 + thread_x) * 8 + 8 <= extent) y[..] = x[..]
 *
 * A block that has rows or columns too many asks for each of its loops, which may have all of their turns.
 *
 * Loads behind conditions of their own wait for each other, in particular those that stand between stores, and the conditions are
 * instructions: a LayerNorm with rows in shared memory is faster for the ones that it saves.
 */

#include "lowering/cuda/extract/kernel.h"

namespace halyard {

/** Rewrites a body that reuse_in_registers() has been over, where such conditions are found. */
void unswitch_blocks(Kernel &kernel);

}  // namespace halyard

#endif
