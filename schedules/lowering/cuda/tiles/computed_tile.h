#ifndef HALYARD_LOWERING_CUDA_COMPUTED_TILE_H
#define HALYARD_LOWERING_CUDA_COMPUTED_TILE_H

/** \file
 * An operand that is computed on the way in, such as weights of 8 bits with their scales: a tile of columns in shared memory, or rows in
 * the registers of those that multiply them.
 */

#include <map>
#include <set>
#include <string>

#include "lowering/cuda/print/print.h"
#include "lowering/cuda/tensor_cores/product.h"

namespace halyard {

/** Where a tile of it that is being computed finds what it loads. */
struct SourceInSlot {
    std::string name;   // of the array
    Halide::Expr slot;  // the first element of its slot
    int across = 0, lines = 0;
    int swizzle = 0;  // bytes, as of StagedTile
};

/** Variables in ComputedTile::value, beside those of an operand: of the registers of rows of a thread, which 8 of the depth, and which of
 * its rows; which of two neighbours. */
constexpr const char *kOperandEighth = "operand_eighth", *kOperandRow = "operand_row", *kOperandLane = "operand_lane";
/** The row in the tile, of a thread that computes it. */
constexpr const char *kOperandLine = "operand_line";

struct ComputedTile {
    const Operand *operand = nullptr;
    Halide::Expr value;  // as of the operand, or with numbers in registers (row_numbers.h)
    std::map<std::string, SourceInSlot> sources;
    std::set<std::string> packed;  // arrays of registers in which two neighbours that `value` loads are one
    int depth = 0;
    Halide::Expr left;  // of the depth; elsewhere it is 0. Undefined: all
    // Of columns:
    std::string name;  // of the array
    int lines = 0;
    Halide::Expr slot;
};

/** A value at `lanes` places, by kOperandLane, that takes the tile's sources from their slots. */
Halide::Expr vector_of_tile(const Halide::Expr &value, int lanes, const ComputedTile &tile);

/** For so many threads, of which `thread` is one: each 16 bytes of the tile. */
void print_computed_tile(const ComputedTile &tile, int threads, KernelPrinter &out);

/** Puts rows into an array of registers as mma and wgmma take them: so many parts of 16 rows, of which a thread's first one is
 * `first_row`, as text. */
void print_computed_rows(const ComputedTile &tile, const std::string &registers, const std::string &first_row, int fragments,
                         KernelPrinter &out);

}  // namespace halyard

#endif
