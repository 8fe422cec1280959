#ifndef HALYARD_LOWERING_NARROW_MASKS_H
#define HALYARD_LOWERING_NARROW_MASKS_H

/** \file
 * Vectors of 8 and 16 bits that are stored under a mask, with AVX-512:
 *
 *   predicate (m) y[ramp(i, 1, 16)] = uint8x16(v)
 *     ->
 *   let zero = int32(address of y == 2^64 - 1)
 *   predicate (m && x16(zero) <= ramp(0, 1, 16)) y[ramp(i, 1, 16)] = uint8x16(v)
 */

#include <memory>

#include <Halide.h>

namespace halyard {

/** Keeps masks from being constants: LLVM 21 and 22 store 32 bits where a mask that is known has one lane, and the value was cut off from 32
 * bits. No array begins at the last address, which LLVM does not know. */
std::unique_ptr<Halide::Internal::IRMutator> hide_masks_of_narrow_stores();

}  // namespace halyard

#endif
