#ifndef HALYARD_LOWERING_CUDA_NEEDED_BARRIERS_H
#define HALYARD_LOWERING_CUDA_NEEDED_BARRIERS_H

/** \file
 * Halide has a barrier behind each stage of a block, and says of each which memory it orders. That is only about what the stages
 * right beside it store and load, and not all of that: what a stage stores behind a barrier of its own is forgotten (Halide 21,
 * FuseGPUThreadLoops). On a device it has all of them wait. Here those go that order nothing, by what is stored and loaded
 * between them:
 *
 *   s[t] = x; barrier(nothing); r = f(r); barrier(nothing); y = s[u]
 *     ->
 *   s[t] = x; r = f(r); barrier; y = s[u]
 */

#include <Halide.h>

namespace halyard {

/** Of the body of a kernel. Barriers that are left order shared memory. */
Halide::Internal::Stmt keep_needed_barriers(const Halide::Internal::Stmt &body);

}  // namespace halyard

#endif
