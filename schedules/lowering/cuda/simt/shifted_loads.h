#ifndef HALYARD_LOWERING_CUDA_SHIFTED_LOADS_H
#define HALYARD_LOWERING_CUDA_SHIFTED_LOADS_H

/** \file
 * Vectors of neighbours that stop at the last element are loaded whole where all of them are there:
 *
 *   x[min(ramp(i, 1, 8), last)]    ->    i + 7 <= last ? x[ramp(i, 1, 8)] : x[min(ramp(i, 1, 8), last)]
 *
 * Halide does that by cutting the loop, which must not be where threads wait in it (barriers.h). Element by element, decode
 * attention would be several times as slow where the head's size is not known.
 */

#include <Halide.h>

namespace halyard {

Halide::Internal::Stmt shift_clamped_loads(const Halide::Internal::Stmt &body);

}  // namespace halyard

#endif
