#ifndef HALYARD_LOWERING_CUDA_FUSED_NESTS_H
#define HALYARD_LOWERING_CUDA_FUSED_NESTS_H

/** \file
 * Prints nests of fused products, or those that reduce the rows of a tile, for threads, each with what it has of the rows of its warp:
 * of every fragment of 16 rows columns 8 j + 2 (lane % 4) and the next, in rows lane / 4 and 8 below.
 */

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lowering/cuda/tensor_cores/fused_parts.h"
#include "lowering/cuda/print/print.h"

namespace halyard {

using Combine = std::function<Halide::Expr(const Halide::Expr &, const Halide::Expr &)>;

/** What a thread has of a tile's rows: two for each fragment, from the first on 8 apart. */
struct RowsOfThread {
    std::string first;  // text
    int fragments = 1;
    // Where several warps share rows: the first column of this one, as text, and what prints how they combine what each has
    // of a row in an array of that name.
    std::string first_column = "";
    std::function<void(const std::string &array, const Halide::Type &, const Combine &)> across_warps = nullptr;
};

class FusedNests {
public:
    /** In kernels that define lane. */
    FusedNests(KernelPrinter &out, const FusedParts &parts, RowsOfThread rows)
        : FusedNests(out, *parts.first_asked, std::move(rows), {parts.second.a.buffer}) {}
    /** `operands`: what is held as operands of the tensor cores, in pairs. */
    FusedNests(KernelPrinter &out, const TensorCores &asked, RowsOfThread rows, std::set<std::string> operands = {})
        : out_(&out), asked_(asked), rows_(std::move(rows)), operands_(std::move(operands)) {}

    /** Loops of a thread over what it has, one after the other. */
    void nests(const std::vector<FusedNest> &list);
    void nest(const FusedNest &n);
    /** One in parts, for loops over elements that others open: what stands before them, at an element, and behind. */
    void begin(const FusedNest &n);
    void at_element(const FusedNest &n);
    void end(const FusedNest &n);
    /** A loop over the rows. */
    void open_rows();
    /** Defines the row in the tile, in a loop over rows. */
    void row_of_line();
    /** A loop over its elements of a tile, in pairs of columns; defines what `reads` has of the coordinates. */
    void open_elements(int columns, const std::vector<Halide::Expr> &reads);
    void coordinates_of_element(int columns, const std::vector<Halide::Expr> &reads);
    /** Of the four lanes that have a row, in a loop over rows. */
    void combine_lanes(const std::string &name, const Halide::Type &t, const Combine &combine);
    /** Stores a number for each row that is inside, by a lane of those that have it where `condition`, text, holds. */
    void store_rows(const FusedNest &n, const std::string &condition = "");
    /** Stores a value for each element of the tile that is inside, or for each row. */
    void store_elements(const FusedNest &n, const Assignment &a);
    static Halide::Expr held_at(const std::string &name, const Halide::Type &t, const Halide::Expr &at);
    static Halide::Internal::Stmt store_of(const std::string &name, const Halide::Expr &value, const Halide::Expr &index);
    /** The value of the column of a pair, 0 or 1. */
    static Halide::Expr shifted(const Halide::Expr &value, int lane);
    /** Both. */
    Halide::Expr pair(const Halide::Expr &value) const;

private:
    void pack(const Assignment &a);

    KernelPrinter *out_;
    const TensorCores &asked_;
    const RowsOfThread rows_;
    const std::set<std::string> operands_;
};

}  // namespace halyard

#endif
