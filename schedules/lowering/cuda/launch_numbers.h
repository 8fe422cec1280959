#ifndef HALYARD_LOWERING_CUDA_LAUNCH_NUMBERS_H
#define HALYARD_LOWERING_CUDA_LAUNCH_NUMBERS_H

/** \file
 * Numbers that the host computes for a launch from the sizes of a call: blocks, bytes of shared memory. Halide computes in 32
 * bits, where a number of blocks that does not fit may be any other, also 0.
 */

#include <Halide.h>

#include "lowering/cuda/simt/linear.h"

namespace halyard {

/** The value of an expression of Int(32) if it is computed without overflow; INT32_MIN, which no launch takes, if it cannot
 * be. `lets` are the names of the host that it may be made of. */
Halide::Expr number_of_launch(const Halide::Expr &e, const Lets &lets);

/** Whether an expression of Int(32) can be computed without overflow. */
Halide::Expr has_no_overflow(const Halide::Expr &e, const Lets &lets);

}  // namespace halyard

#endif
