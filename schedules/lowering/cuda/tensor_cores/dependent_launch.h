#ifndef HALYARD_LOWERING_CUDA_DEPENDENT_LAUNCH_H
#define HALYARD_LOWERING_CUDA_DEPENDENT_LAUNCH_H

/** \file
 * Kernels of a call that need nothing of each other, as those of three products of one matrix, may run together: each is
 * launched beside the one before (halyard_cuda_launch_beside), and waits for it in the end. Where each has too few blocks for
 * a device, or reads little, that is the time of one in place of the sum.
 */

#include <map>

#include <Halide.h>

#include "lowering/cuda/tensor_cores/tile_kernel.h"

namespace halyard {

/** Of each outermost loop over blocks. What a pipeline allocates may lie where another allocation was, so that kernels which
 * write to such memory are launched beside none. */
std::map<const Halide::Internal::For *, DependentLaunch> find_dependent_launches(const Halide::Internal::Stmt &s);

}  // namespace halyard

#endif
