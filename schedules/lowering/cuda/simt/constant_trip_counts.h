#ifndef HALYARD_LOWERING_CUDA_CONSTANT_TRIP_COUNTS_H
#define HALYARD_LOWERING_CUDA_CONSTANT_TRIP_COUNTS_H

/** \file
 * Loops over a thread's registers have a constant number of turns, so that they can be unrolled: registers have no
 * indices. Halide ends a loop where its body would do nothing:
 *
 *   for (row = 0; row < min(rows_left, 4); row++)                  for (row = 0; row < 4; row++)
 *     y[..] = acc[row]                                   ->          if (row < rows_left) y[..] = acc[row]
 */

#include <Halide.h>

namespace halyard {

/** Rewrites the body of a kernel in which register arrays are the threads' own. */
Halide::Internal::Stmt with_constant_trip_counts(const Halide::Internal::Stmt &body);

}  // namespace halyard

#endif
