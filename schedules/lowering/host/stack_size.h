#ifndef HALYARD_LOWERING_STACK_SIZE_H
#define HALYARD_LOWERING_STACK_SIZE_H

/** \file
 * What a library takes of the stack of who calls it.
 */

#include <memory>

#include <Halide.h>

namespace halyard {

/** A pass for Pipeline::add_custom_lowering_pass, behind the one that takes kernels out: arrays that lie on the stack, as their
 * extents are constants and store_in says so, have bounds, each by itself and all together. It throws a CompileError that names the
 * largest. */
std::unique_ptr<Halide::Internal::IRMutator> bound_stack();

}  // namespace halyard

#endif
