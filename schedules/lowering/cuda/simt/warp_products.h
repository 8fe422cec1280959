#ifndef HALYARD_LOWERING_CUDA_WARP_PRODUCTS_H
#define HALYARD_LOWERING_CUDA_WARP_PRODUCTS_H

/** \file
 * Products on the tensor cores of what the threads of a warp have in registers. A sum over elements that other threads of the warp have, of
 * two arrays of 16-bit floats,
 *
 *   for group (4): for member (4): for w_near (2): for a_near (2):
 *     sum[row 2 thread_x + a_near, column 2 thread_y + w_near] += f32(w[member, group, column]) * f32(a[member, group, row])
 *
 * where w's element belongs to thread (group, column / 2) and a's to thread (group, row), of 4 x 8 threads, is an instruction of 16 columns, 8
 * rows and a depth of 16 (PTX ISA, "Matrix fragments for mma.m16n8k16 with floating point type"). Which of the depth a thread has does not
 * matter to it, as long as both arrays agree: here four neighbours.
 */

#include "lowering/cuda/simt/thread_local_indices.h"

namespace halyard {

/** Four sums of a thread, {a_near, w_near} = {0, 0}, {1, 0}, {0, 1}, {1, 1}: arguments w of both columns, a, and what the sums were. */
extern const char *const kMultiplyInWarp;

/** Whether there are some: a kernel then stands on what those with tensor cores do. */
bool has_warp_products(const Halide::Internal::Stmt &body);

/** What does such a loop nest; undefined where it is none. `lets` stand around it. */
Halide::Internal::Stmt warp_product(const Halide::Internal::For *loop, const Kernel &kernel, const RegisterArrays &arrays,
                                    const Lets &lets);

}  // namespace halyard

#endif
