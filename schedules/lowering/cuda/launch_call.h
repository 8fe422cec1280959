#ifndef HALYARD_LOWERING_CUDA_LAUNCH_CALL_H
#define HALYARD_LOWERING_CUDA_LAUNCH_CALL_H

/** \file
 * The call of the runtime that stands in the host's code where a kernel was.
 */

#include <functional>
#include <string>

#include <Halide.h>

#include "lowering/cuda/extract/kernel.h"
#include "lowering/cuda/simt/linear.h"

namespace halyard {

/** What calls of the runtime pass on to it. */
Halide::Expr user_context();

/** A call of halyard_cuda_launch_after, or where the kernel may run `beside` the one before of halyard_cuda_launch_beside (runtime's
 * cuda_launch.cpp), and an error where it fails. `image` is the name of the buffer with the code, and `lets` are the names of the host that sizes are
 * made of. */
Halide::Internal::Stmt launch_call(const Kernel &kernel, const std::string &image, const Lets &lets, bool beside,
                                   const std::function<void(const std::string &func, const std::string &message)> &fail);

}  // namespace halyard

#endif
