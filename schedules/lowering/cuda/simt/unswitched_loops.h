#ifndef HALYARD_LOWERING_CUDA_UNSWITCHED_LOOPS_H
#define HALYARD_LOWERING_CUDA_UNSWITCHED_LOOPS_H

/** \file
 * Loops over what is in shared memory and registers ask once whether all of their turns count:
 *
 *   for t < n: if (a + t <= b) s
 *     ->
 *   if (a + n - 1 <= b) { for t < n: s } else { for t < b - a + 1: s }
 *
 * A product of tiles asks so for each k whether it is before the last. Unrolled, the questions keep the compiler from loading
 * for the next turns while it multiplies for this one.
 */

#include "lowering/cuda/extract/kernel.h"

namespace halyard {

void unswitch_loops(Kernel &kernel);

}  // namespace halyard

#endif
