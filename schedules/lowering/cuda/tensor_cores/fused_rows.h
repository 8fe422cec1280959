#ifndef HALYARD_LOWERING_CUDA_FUSED_ROWS_H
#define HALYARD_LOWERING_CUDA_FUSED_ROWS_H

/** \file
 * What is the same in all columns of a tile, in two fused products:
 *
 *   for row: for col: m[row][col] = max(m[row][col], block_max[row])
 *     ->
 *   for row: m[row] = max(m[row], block_max[row])
 */

#include <string>

#include "lowering/cuda/tensor_cores/fused_parts.h"

namespace halyard {

/** The value that is held for a row. */
Halide::Expr held_row(const std::string &name, const Halide::Type &type);

/** Values of a tile that are the same in all columns are held one a row. */
void hold_by_row(FusedParts &parts);

/** What is the same in all columns of an expression is computed once a row, in nests of their own, and not again where a row
 * has it already. */
void compute_by_row(FusedParts &parts);

}  // namespace halyard

#endif
