#ifndef HALYARD_LOWERING_CUDA_EXPRESSIONS_H
#define HALYARD_LOWERING_CUDA_EXPRESSIONS_H

/** \file
 * All expressions in the statements of a block program.
 */

#include <functional>

#include "lowering/cuda/tiles/block_program.h"

namespace halyard {

/** Replaces each by what `mutate` makes of it. */
void mutate_expressions(TileBody &body, const std::function<Halide::Expr(const Halide::Expr &)> &mutate);

/** Of one statement, without those in its body. */
void mutate_own_expressions(TileNode &node, const std::function<Halide::Expr(const Halide::Expr &)> &mutate);

}  // namespace halyard

#endif
