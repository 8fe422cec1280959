#ifndef HALYARD_LOWERING_CUDA_EXTRACT_HOST_VECTORS_H
#define HALYARD_LOWERING_CUDA_EXTRACT_HOST_VECTORS_H

/** \file
 * Vectors that the host computes outside of a kernel, and that the kernel uses. An argument of a kernel is one number, so such a vector is computed
 * in the kernel again:
 *
 *   let v = ramp(x, 1, 8)           gpu_block for b:
 *   gpu_block for b:         ->       a[b] = ramp(x, 1, 8)
 *     a[b] = v
 */

#include <functional>
#include <string>

#include <Halide.h>

namespace halyard {

/** The nest of block loops with the values of `vectors` in place of their names. Fails where such a value is read from memory of the host. */
Halide::Internal::Stmt with_host_vectors(const Halide::Internal::Stmt &kernel, const std::function<void(const std::string &message)> &fail,
                                         const Halide::Internal::Scope<Halide::Expr> &vectors);

}  // namespace halyard

#endif
