#ifndef HALYARD_LOWERING_CUDA_TILE_PAIRS_H
#define HALYARD_LOWERING_CUDA_TILE_PAIRS_H

/** \file
 * What stands before and after a product: nests over its tile, as a thread does them for the sums that it has. It has
 * sums in pairs of neighbouring columns, both with mma and with wgmma:
 *
 *   for row: for col: y[row * y_stride_1 + col] = f(acc[row * 128 + col])
 *     ->
 *   y[fragment_row * y_stride_1 + fragment_col ..] = f(acc[fragment_element ..])          -- vectors of two
 */

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "product.h"

namespace halyard {

/** The variables of a pair's expressions: the place of its first sum in the tile, and among the sums of the thread. */
extern const char *const kRow, *const kCol, *const kElement;

struct Pair {
    std::string stored;          // the buffer
    Halide::Expr index, value;   // vectors of two
    Halide::Expr row_extent, col_extent;
};

/** `fail` throws. */
Pair read_pair(const Halide::Internal::Stmt &nest, const std::vector<TileOfProduct> &tiles,
               const std::function<void(const std::string &)> &fail);

/** The value, with loads of device memory only where the tile is inside: at its end there is nothing. */
Halide::Expr loaded_inside(const Pair &pair, const std::set<std::string> &accumulators);

}  // namespace halyard

#endif
