#ifndef HALYARD_LOWERING_CUDA_FUSED_NEST_H
#define HALYARD_LOWERING_CUDA_FUSED_NEST_H

/** \file
 * A nest over rows and columns of a tile of sums, in fused products or behind a single one.
 */

#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

/** Variables in the expressions of nests: the row and the column in the tile. Loads of held values have as index one of
 * the other two: the element that a thread has, for values of a tile, and its row, for those that are one a row. */
extern const char *const kChainRow, *const kChainColumn, *const kChainElement, *const kChainHeldRow;

/** stored = value, for each element of the tile, or each row. */
struct Assignment {
    std::string stored;
    Halide::Expr value;
    Halide::Expr index;  // where it is stored in device memory; of held values, undefined
};

/** Loops over rows, or rows and columns. */
struct FusedNest {
    enum Kind { kRows, kTile, kReduction };
    Kind kind = kTile;
    int columns = 0;                                 // of the tile; 0 for kRows
    std::vector<Assignment> assignments;             // all at once; a reduction has one, whose value is without the sum so far
    enum Reduction { kSum, kMin, kMax, kMaxOrNan };  // the last of floats, one of which may be a NaN
    Reduction reduction = kSum;
    bool across_lanes = true;  // of a reduction: whether the lanes that share a row have the whole of it
    Halide::Expr row_extent, column_extent;
    Halide::Expr counts;  // of a block: whether a reduction is done in it; undefined: in all

    /** What a reduction begins with. */
    Halide::Expr neutral(const Halide::Type &t) const {
        return reduction == kSum ? Halide::Internal::make_zero(t) : reduction == kMin ? t.max() : t.min();
    }
};

}  // namespace halyard

#endif
