#ifndef HALYARD_LOWERING_CUDA_CHAIN_NESTS_H
#define HALYARD_LOWERING_CUDA_CHAIN_NESTS_H

/** \file
 * Prints nests of a chain for threads, each with what it has of the rows of its warp: of every fragment of 16 rows columns
 * 8 j + 2 (lane % 4) and the next, in rows lane / 4 and 8 below.
 */

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "chain_parts.h"
#include "print.h"

namespace halyard {

/** What a thread has of a tile's rows: two for each fragment, from the first on 8 apart. */
struct RowsOfThread {
    std::string first;  // text
    int fragments = 1;
};

class ChainNests {
public:
    /** In kernels that define lane. */
    ChainNests(KernelPrinter &out, const ChainParts &parts, RowsOfThread rows)
        : out_(&out),
          parts_(parts),
          rows_(std::move(rows)) {
    }

    /** Loops of a thread over what it has, one after the other. */
    void nests(const std::vector<ChainNest> &list);
    void nest(const ChainNest &n);
    /** One in parts, for loops over elements that others open: what stands before them, at an element, and behind. */
    void begin(const ChainNest &n);
    void at_element(const ChainNest &n);
    void end(const ChainNest &n);
    /** A loop over the rows. */
    void open_rows();
    /** Defines the row in the tile, in a loop over rows. */
    void row_of_line();
    /** A loop over its elements of a tile, in pairs of columns; defines what `reads` has of the coordinates. */
    void open_elements(int columns, const std::vector<Halide::Expr> &reads);
    void coordinates_of_element(int columns, const std::vector<Halide::Expr> &reads);
    /** Of the four lanes that have a row, in a loop over rows. */
    void combine_lanes(const std::string &name, const Halide::Type &t,
                       const std::function<Halide::Expr(const Halide::Expr &, const Halide::Expr &)> &combine);
    static Halide::Internal::Stmt store_of(const std::string &name, const Halide::Expr &value, const Halide::Expr &index);
    /** The value of the column of a pair, 0 or 1. */
    static Halide::Expr shifted(const Halide::Expr &value, int lane);
    /** Both. */
    Halide::Expr pair(const Halide::Expr &value) const;

private:
    void pack(const Assignment &a);
    static Halide::Expr held_at(const std::string &name, const Halide::Type &t, const Halide::Expr &at);

    KernelPrinter *out_;
    const ChainParts &parts_;
    const RowsOfThread rows_;
};

}  // namespace halyard

#endif
