#ifndef HALYARD_LOWERING_SINGLE_ELEMENTS_H
#define HALYARD_LOWERING_SINGLE_ELEMENTS_H

/** \file
 * Vectors under a mask in an array of one element, which a guarded loop over it may have.
 */

#include <memory>

#include <Halide.h>

namespace halyard {

/** Takes away what is said of the alignment of vectors in arrays of one element: Halide 21 aligns such an array as an element, and counts on
 * it for a vector. */
std::unique_ptr<Halide::Internal::IRMutator> forget_alignment_of_single_elements();

}  // namespace halyard

#endif
