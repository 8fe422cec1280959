#ifndef HALYARD_LOWERING_CUDA_ALLOCATIONS_H
#define HALYARD_LOWERING_CUDA_ALLOCATIONS_H

#include <Halide.h>

namespace halyard {

/** Has the arrays of the pipeline allocated by halyard_cuda_malloc_together(), which knows by that that they end with the call, and may
 * lie in the caller's scratch memory; arrays of the caller stay with halide_device_malloc(). The values of a tuple are one call: in a CUDA
 * graph an allocation, and a release, takes the device about as long as a kernel that does nothing. */
Halide::Internal::Stmt allocate_together(const Halide::Internal::Stmt &s);

}  // namespace halyard

#endif
