#ifndef HALYARD_LOWERING_ARGUMENT_CHECKS_H
#define HALYARD_LOWERING_ARGUMENT_CHECKS_H

/** \file
 * What a library says of its arguments, beyond what Halide makes it say.
 *
 *   let x.extent.0 = x->dim[0].extent            assert x != null, x->dimensions == 2, x->dim != null
 *   assert x.stride.0 == 1             ->        let x.extent.0 = x->dim[0].extent
 *                                                assert x.stride.0 == 1 || x has at most one element along dimension 0
 *                                                assert no two elements of an output lie at one address
 *                                                assert elements, counted from that of index 0, are less than 2^31 away
 *                                                assert no output lies over another array (runtime/shared_memory.cpp)
 *
 * A dimension of one element may have any stride, and so may an array of none: nothing is ever computed from it, as every
 * access is to the element that the minimum names. Messages begin with the name of the function that was called.
 */

#include <memory>
#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

/** How a library computes where an element is: in 32 bits, which it could be built otherwise for, or always, or in 64. */
enum class WidthOfIndices { k32, kOnly32, k64 };

/** A pass for Pipeline::add_custom_lowering_pass, the last of them. Without the name of a function, which asks for Halyard's
 * runtime, messages are Halide's own, and whether outputs lie apart from all other arrays (`apart`) is not asked: an algorithm of one's own
 * may say that a call is right in place. */
std::unique_ptr<Halide::Internal::IRMutator> check_arguments(const std::string &function, WidthOfIndices indices, bool apart);

/** The names of the buffers that a library is called with: those of which Halide checks something. */
std::vector<std::string> buffers_of(const Halide::Internal::Stmt &body);

}  // namespace halyard

#endif
