#ifndef HALYARD_LOWERING_CUDA_ALLOCATIONS_H
#define HALYARD_LOWERING_CUDA_ALLOCATIONS_H

#include <Halide.h>

namespace halyard {

/** Has the values of a tuple allocated by one call (halyard_cuda_malloc_together): in a CUDA graph an allocation, and a release,
 * takes the device about as long as a kernel that does nothing. */
Halide::Internal::Stmt allocate_together(const Halide::Internal::Stmt &s);

}  // namespace halyard

#endif
