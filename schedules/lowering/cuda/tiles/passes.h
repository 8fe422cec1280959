#ifndef HALYARD_LOWERING_CUDA_TILE_PASSES_H
#define HALYARD_LOWERING_CUDA_TILE_PASSES_H

/** \file
 * The passes over a kernel with products that becomes a block program, in their order (passes.cpp).
 */

#include <functional>
#include <vector>

#include "lowering/cuda/extract/pass_run.h"
#include "lowering/cuda/tiles/block_program.h"

namespace halyard {

/** The kernel as a block program, after all passes. `observe` may be empty. */
BlockProgram make_block_program(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host, const Strides &strides,
                                const std::function<void(const PassRun &)> &observe);

/** A block program for people, as `halyard show OP --after PASS` prints it: products are calls of tile_product(sums, a, b), of
 * tile_product_from_0 where the sums begin with it. */
Halide::Internal::Stmt statement_of(const BlockProgram &program);

}  // namespace halyard

#endif
