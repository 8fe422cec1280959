#ifndef HALYARD_LOWERING_CUDA_PRODUCT_H
#define HALYARD_LOWERING_CUDA_PRODUCT_H

/** \file
 * The loops of a product of tiles, as a schedule leaves them for the tensor cores:
 *
 *   for row: for col: for d: acc[row * columns + col] += f32(a[..]) * f32(b[..])          -- or int32, of bytes; or tf32(a[..])
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

namespace halyard {

/** The variable in Operand::counts: how deep in the tile. */
extern const char *const kOperandDepth;

/** A matrix that the product reads: a tile of a tensor in device memory. */
struct Operand {
    std::string buffer;
    Halide::Type type;
    bool tf32 = false;                 // of float32: multiplied without its last 13 bits
    std::vector<Halide::Expr> origin;  // coordinates of the tile's first element
    int depth_dimension = -1;          // the dimension that runs with d
    int other_dimension = -1;          // and with row, or col; of several loops over rows the first
    std::vector<int> box, step;        // along each dimension: elements of the tile, and how far apart they are
    Halide::Expr end;                  // of its depth, where the sum ends before the buffer may; behind that all is 0
    Halide::Expr counts;               // of the depth operand_depth: where it counts; elsewhere it is 0. Undefined: everywhere

    int rank() const {
        return int(origin.size());
    }
    /** The dimension of its lines, where those run along the first one. */
    int line_dimension() const {
        return std::max(depth_dimension, other_dimension);
    }
};

struct TileOfProduct {
    std::string accumulator;
    Halide::Type sum;  // of an accumulator
    int rows = 0, columns = 0, depth = 0;
    std::vector<int> row_loops;        // their extents, the innermost first
    std::vector<int64_t> row_strides;  // in the accumulator; more than needed where other forms of the kernel need them
    Operand a, b;                      // a runs with row and d, b with col and d
};

/** The coordinates of an element of a buffer, by its index; nothing where it has none. */
using CoordinatesOf = std::function<std::optional<std::vector<Halide::Expr>>(const Halide::Expr &index, const std::string &buffer)>;

/** Reads the loops. `fail` throws. */
TileOfProduct read_product(const Halide::Internal::Stmt &nest, const Lets &lets, const CoordinatesOf &coordinates_of,
                           const std::function<void(const std::string &)> &fail);

}  // namespace halyard

#endif
