#ifndef HALYARD_LOWERING_CUDA_ZERO_MINS_H
#define HALYARD_LOWERING_CUDA_ZERO_MINS_H

/** \file
 * In the usual call, coordinates of buffers begin at 0. Indices are then the same in all stages, and shorter.
 *
 *   y[row * stride - (y.min.1 * stride + y.min.0) + col]   ->   y[row * stride + col]
 */

#include <Halide.h>

#include "lowering/cuda/extract/kernel.h"
#include "lowering/cuda/simt/linear.h"

namespace halyard {

/** Rewrites the body, and what is passed to it. `lets` stand around the kernel. Returns the condition, in the host's variables. */
Halide::Expr assume_zero_mins(Kernel &kernel, const Lets &lets);

}  // namespace halyard

#endif
