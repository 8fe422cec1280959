#ifndef HALYARD_LOWERING_CUDA_BLOCK_PROGRAM_H
#define HALYARD_LOWERING_CUDA_BLOCK_PROGRAM_H

/** \file
 * What a block of a kernel with products does with its tiles, as a tree of statements:
 *
 *   loop step:                              -- serial loops and conditions, of any depth
 *     product: acc += a * b                 -- sums in registers; a and b fetched, computed, or, a alone, held in registers
 *     nest: h = f(acc, ...)                 -- values of a tile, or one a row, in registers; rows reduced; results stored
 *
 * Nothing is said of instructions, of shared memory, or of who does what: that follows (streams.h, kernel.h).
 */

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lowering/cuda/tensor_cores/fused_nest.h"
#include "lowering/cuda/tensor_cores/fused_parts.h"
#include "lowering/cuda/tensor_cores/product.h"
#include "lowering/cuda/tensor_cores/tile_kernel.h"

namespace halyard {

struct TileNode;
using TileBody = std::vector<TileNode>;

/** What is loaded of device memory once for a whole tile, such as the expert of its rows. */
struct NumberOfTile {
    std::string name;
    Halide::Expr load, needed;  // `needed`: elsewhere nobody asks for it, and there may be nothing to load
};

struct TileNode {
    enum Kind {
        kProduct,  // product, asked
        kNest,     // nest
        kLoop,     // loop from min, extent turns: body
        kIf,       // condition, of the block and the loops around: body
        kPromise   // condition, which holds as far as Halide could not tell
    };
    Kind kind = kNest;
    TileOfProduct product;
    const TensorCores *asked = nullptr;
    bool begins = false;  // of a product: its sums begin as 0
    FusedNest nest;
    std::string loop;
    Halide::Expr min, extent, condition;
    std::shared_ptr<TileBody> body;
    std::vector<NumberOfTile> numbers;  // of a condition: loaded where it holds
};

struct BlockProgram {
    std::array<std::string, 3> block_names;
    int rows = 0;
    std::map<std::string, Held> held;  // in registers
    TileBody body;
    std::vector<NumberOfTile> numbers;
    Lets lets;  // of the host

    /** All nodes, the outer ones first. */
    std::vector<const TileNode *> nodes() const;
    std::vector<const TileNode *> products() const;
    std::vector<NumberOfTile> all_numbers() const;
    const TensorCores &asked() const {
        return *products().front()->asked;
    }
};

/** `host`, `strides`: as of read_tile_program(). Throws through the products' fail(). */
BlockProgram form_block_program(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host, const Strides &strides);

/** acc = acc + sum behind each sum of a step, which begins as 0: the product adds to acc. */
void add_to_accumulators(BlockProgram &program);

/** Of products whose columns are computed, rows and columns change places: rows are computed in registers, columns are not. */
void swap_sides(BlockProgram &program);

/** Of a nest: the row in its tile for the column, and the other way round. */
Halide::Expr with_sides_swapped(const Halide::Expr &e);

/** Conditions that a loop does not change stand around it: for step: if c: product -> if c: for step: product. */
void hoist_conditions(BlockProgram &program);

/** Loops over the same steps of the same rows become one, so that their products share what they fetch:
 * a = 0; for step: a += x * y; b = 0; for step: b += x * z -> a = 0; b = 0; for step: a += x * y; b += x * z. */
void join_loops(BlockProgram &program);

/** Integers of device memory by which a tile's places and conditions are found are loaded once. */
void load_numbers_once(BlockProgram &program);

/** sum = 0 in front of a product: the product begins with its first step. */
void begin_with_products(BlockProgram &program);

/** What the nests behind a product load of device memory, one number a row or a tile: it is under way while the product is. */
void load_rows_early(BlockProgram &program);

}  // namespace halyard

#endif
