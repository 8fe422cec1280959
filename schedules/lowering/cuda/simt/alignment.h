#ifndef HALYARD_LOWERING_CUDA_ALIGNMENT_H
#define HALYARD_LOWERING_CUDA_ALIGNMENT_H

/** \file
 * When vectors can be loaded and stored whole.
 *
 * A thread moves up to 16 bytes at once from an address that is a multiple of them. Whether it is depends on pointers
 * and strides that are known when the kernel is called: x[row * x_stride_1 + col * 8 ...] is, where x starts at a
 * multiple and x_stride_1 % 8 == 0. What has to hold is collected for the whole kernel; the host then calls this
 * kernel, or where it does not hold one that moves element by element. The same goes for a number of columns that is no
 * whole number of vectors: this kernel need not look at single elements.
 */

#include <map>

#include "lowering/cuda/extract/kernel.h"

namespace halyard {

/** The accesses of the body whose alignment holds or can be asked for are marked so (the alignment of their Load or
 * Store is a multiple of the lanes). Returns the condition, in the host's variables; not defined where there is nothing
 * to ask. */
Halide::Expr mark_aligned_vectors(Kernel &kernel);

/** Indices that are multiples say nothing of an array that begins anywhere, and whoever simplifies them says so all the same: of
 * arrays whose address is not asked for in `usable` no access is aligned. */
void forget_alignment(Kernel &kernel, const Halide::Expr &usable);

struct AlignmentFacts {
    std::set<std::string> arguments;       // names that the host knows
    std::map<std::string, int> multiples;  // of other variables, what they are multiples of
    std::set<std::string> not_in_memory;   // arrays that have no address
};

/** The same for a part of a body. */
Halide::Expr mark_aligned_vectors(Halide::Internal::Stmt &part, const AlignmentFacts &facts);

/** Elements of which an access moves a whole number at once: what its alignment has to be. */
int vector_elements(const Halide::Type &vector);

}  // namespace halyard

#endif
