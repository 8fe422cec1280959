#ifndef HALYARD_LOWERING_CUDA_SCALAR_ARGUMENTS_H
#define HALYARD_LOWERING_CUDA_SCALAR_ARGUMENTS_H

/** \file
 * Arguments of kernels with products: what their text uses of the host's numbers and buffers.
 */

#include <set>
#include <string>
#include <vector>

#include "lowering/cuda/extract/kernel.h"
#include "lowering/cuda/tensor_cores/product.h"

namespace halyard {

/** Each variable of the expressions that is not `local` to the kernel. Fields of the operands' buffers are asked of these: for those that
 * the pipeline allocates, Halide has no variables. */
void add_scalars(Kernel &kernel, const std::vector<Halide::Expr> &used, const std::set<std::string> &local,
                 const std::vector<const Operand *> &operands);

/** Those buffers of `base` that are needed. */
void add_buffers(Kernel &kernel, const Kernel &base, const std::set<std::string> &needed);

}  // namespace halyard

#endif
