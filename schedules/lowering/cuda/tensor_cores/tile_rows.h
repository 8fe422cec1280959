#ifndef HALYARD_LOWERING_CUDA_TILE_ROWS_H
#define HALYARD_LOWERING_CUDA_TILE_ROWS_H

/** \file
 * What the rows of a tile of sums are reduced to, in registers, where each thread that has a part of a row has its number:
 *
 *   for row: largest[row] = c
 *   for row: for col: largest[row] = max(largest[row], f(acc[row * columns + col], ..))
 *   for row: y[..] = g(largest[row], ..)
 */

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "lowering/cuda/tensor_cores/fused_nest.h"
#include "lowering/cuda/tensor_cores/product.h"

namespace halyard {

/** Whether a nest stores or reads one of those: numbers of rows. */
bool is_of_rows(const Halide::Internal::Stmt &nest, const std::set<std::string> &numbers);

/** Reads such a nest, and what it needs before it. Of what it stores, assignments to memory have an index. `fail` throws. */
std::vector<FusedNest> read_rows(const Halide::Internal::Stmt &nest, const std::vector<TileOfProduct> &tiles,
                                 const std::set<std::string> &numbers, const std::function<void(const std::string &)> &fail);

/** The nests where all columns of the tile are among those that count: selects by conditions on columns alone take that side.
 * `whole`: when that is so; undefined where there are no such selects. */
std::vector<FusedNest> of_whole_tile(std::vector<FusedNest> nests, Halide::Expr *whole);

}  // namespace halyard

#endif
