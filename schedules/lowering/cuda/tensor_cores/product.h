#ifndef HALYARD_LOWERING_CUDA_PRODUCT_H
#define HALYARD_LOWERING_CUDA_PRODUCT_H

/** \file
 * The loops of a product of tiles, as a schedule leaves them for the tensor cores:
 *
 *   for row: for col: for d: acc[row * columns + col] += f32(a[..]) * f32(b[..])          -- or int32, of bytes
 *
 * f32(a[..]) may be a number that Halide has no type for, as tensor_number.h has them.
 *
 * Rows may be several loops, as over a box of the pixels of images; the innermost is the first:
 *
 *   for image: for y: for x: for col: for d: acc[((image * ys + y) * xs + x) * columns + col] += ..
 */

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lowering/cuda/simt/linear.h"
#include "lowering/cuda/tensor_cores/tensor_number.h"

namespace halyard {

/** Variables in Operand::counts, line and value: how deep in the tile, and in which of its rows, or columns. */
extern const char *const kOperandDepth, *const kOperandOther;

/** A matrix that the product reads: a tile of a tensor in device memory, as it is there or computed on the way in. */
struct Operand {
    std::string buffer;
    Halide::Type type;
    TensorNumber::Format format = TensorNumber::kStored;
    std::vector<Halide::Expr> origin;  // coordinates of the tile's first element
    int depth_dimension = -1;          // the dimension that runs with d
    int other_dimension = -1;          // and with row, or col; of several loops over rows the first
    std::vector<int> box, step;        // along each dimension: elements of the tile, and how far apart they are
    Halide::Expr end;                  // of its depth, where the sum ends before the buffer may; behind that all is 0
    Halide::Expr line;                 // the coordinate in other_dimension of line kOperandOther, where lines are taken by an index
    Halide::Expr counts;               // of the depth operand_depth: where it counts; elsewhere it is 0. Undefined: everywhere
    // Where it is computed: its elements, of kOperandDepth and kOperandOther. What they load of `sources` lies as these boxes are, one
    // line after the other. There is no buffer then, and no origin.
    Halide::Expr value;
    std::vector<Operand> sources;
    std::string tile;  // of a source: its name in `value`

    TensorNumber number() const {
        return {type, format};
    }
    int rank() const {
        return int(origin.size());
    }
    /** What its place depends on. */
    std::vector<Halide::Expr> places() const {
        std::vector<Halide::Expr> all = origin;
        if (line.defined()) {
            all.push_back(line);
        }
        return all;
    }
    /** The dimension of its lines, where those run along the first one. */
    int line_dimension() const {
        return std::max(depth_dimension, other_dimension);
    }
};

/** Whether what are neighbours in memory are rows or columns of the product, and not along its depth. */
inline bool is_across(const Operand &o) {
    return o.depth_dimension != 0;
}

struct TileOfProduct {
    std::string accumulator;
    Halide::Type sum;  // of an accumulator
    int rows = 0, columns = 0, depth = 0;
    Halide::Expr left;                 // of the depth, where a step may have less; undefined: all
    Halide::Expr condition;            // of the block and the loops around it: elsewhere nothing is added; undefined: always
    std::vector<int> row_loops;        // their extents, the innermost first
    std::vector<int64_t> row_strides;  // in the accumulator; more than needed where other forms of the kernel need them
    Operand a, b;                      // a runs with row and d, b with col and d
};

/** The coordinates of an element of a buffer, by its index; nothing where it has none. */
using CoordinatesOf = std::function<std::optional<std::vector<Halide::Expr>>(const Halide::Expr &index, const std::string &buffer)>;

/** What a load of an array of the kernel stands for: its value there by what it was computed of; undefined, where it is to be loaded. */
using DefinitionOf = std::function<Halide::Expr(const Halide::Internal::Load *load)>;

/** Reads the loops. `fail` throws. Where `definition_of` is given, operands may be computed or have lines by an index, and the product may stand under a
 * condition. */
TileOfProduct read_product(const Halide::Internal::Stmt &nest, const Lets &lets, const CoordinatesOf &coordinates_of,
                           const std::function<void(const std::string &)> &fail, const DefinitionOf &definition_of = nullptr);

}  // namespace halyard

#endif
