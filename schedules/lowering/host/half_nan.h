#ifndef HALYARD_LOWERING_HALF_NAN_H
#define HALYARD_LOWERING_HALF_NAN_H

/** \file
 * NaN in float16 that is made in software: Halide 21 rounds where a target has no instruction for it (F16C), and makes an infinity
 * of a NaN.
 */

#include <memory>

#include <Halide.h>

namespace halyard {

/** Conversions to float16, and arithmetic in it, that give NaN where they are of a NaN. */
std::unique_ptr<Halide::Internal::IRMutator> keep_nan_of_half();

}  // namespace halyard

#endif
