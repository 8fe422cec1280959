#ifndef HALYARD_LOWERING_CUDA_ROW_NUMBERS_H
#define HALYARD_LOWERING_CUDA_ROW_NUMBERS_H

/** \file
 * Numbers of device memory that computed rows take, such as the scale of a row or of a group of the depth. In a loop whose turns
 * multiply such rows each thread has them in registers before it needs them:
 *
 *   for step:                                      row_number = scale_of_row[..]
 *     rows = a[..] * w[depth] * scale_of_row[..]   turn_number = w[depth of the first turn]
 *     sums += rows * b                       ->    for step:
 *                                                    rows = a[..] * turn_number * row_number
 *                                                    turn_number = w[depth of the next turn]
 *                                                    sums += rows * b
 */

#include <string>
#include <vector>

#include "lowering/cuda/tiles/computed_tile.h"

namespace halyard {

struct RowNumber {
    std::string registers;  // the name of the array
    Halide::Expr load;      // of kOperandDepth and kOperandOther
    bool of_turn = false;   // it changes with the loop
    bool in_pairs = false;  // two, for the two neighbours of a register of rows
    bool by_line = false, by_depth = false;
    int depth = 0;     // of the tile, that has one number, or a pair for each of its pairs; a multiple of 8
    int elements = 0;  // of the array
    // Of pairs of which all are aligned where the first element of this index is; undefined: they are loaded one by one.
    Halide::Expr begins;
    /** A pair is one register: compilers take halves of them apart and put them together again. */
    bool is_packed() const {
        return in_pairs && load.type().bits() == 16;
    }
    std::string aligned() const {
        return registers + ".aligned";
    }
};

/** Those of rows that are multiplied in a loop, as many as there are registers for. The tile has them from there then.
 * `first`: the turn of the loop that its others are counted from; `prefix`: of the names; `fragments`: as of print_computed_rows(). */
std::vector<RowNumber> take_row_numbers(ComputedTile &tile, const std::string &prefix, const std::string &loop, const Halide::Expr &first,
                                        int fragments);

/** Declares the registers, and says whether pairs are aligned. */
void declare_row_number(const RowNumber &n, KernelPrinter &out);

/** Loads them; `left`: of the depth of the turn that they are for, undefined: all. Where it is less than a whole turn's, rows are
 * computed of what is in memory. */
void print_row_number(const RowNumber &n, const ComputedTile &tile, const Halide::Expr &left, const std::string &first_row,
                      KernelPrinter &out);

}  // namespace halyard

#endif
