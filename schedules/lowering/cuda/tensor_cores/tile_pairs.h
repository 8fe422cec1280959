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

#include "lowering/cuda/tensor_cores/product.h"

namespace halyard {

/** The variables of a pair's expressions: the place of its first sum in the tile, and among the sums of the thread. Where rows
 * are several loops, the row in each is a variable of its own (row_name). */
extern const char *const kRow, *const kCol, *const kElement;

/** The variable of a loop over rows, the innermost is the first. */
std::string row_name(const TileOfProduct &tile, size_t loop);

/** A loop over rows. */
struct PairRows {
    std::string name;     // as row_name() has it
    int extent = 0;       // of the tile
    Halide::Expr inside;  // so many are inside of what is stored
};

struct Pair {
    std::string stored;         // the buffer
    Halide::Expr index, value;  // vectors of two
    std::vector<PairRows> rows;
    Halide::Expr col_extent;

    /** Whether the row that the variables name is inside; and whether the tile is. */
    Halide::Expr row_is_inside() const;
    Halide::Expr is_whole(int columns) const;
};

/** `fail` throws. */
Pair read_pair(const Halide::Internal::Stmt &nest, const std::vector<TileOfProduct> &tiles,
               const std::function<void(const std::string &)> &fail);

/** The value, with loads of device memory only where the tile is inside: at its end there is nothing. */
Halide::Expr loaded_inside(const Pair &pair, const std::set<std::string> &accumulators);

}  // namespace halyard

#endif
