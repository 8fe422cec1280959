#ifndef HALYARD_LOWERING_CUDA_ZERO_OUTSIDE_H
#define HALYARD_LOWERING_CUDA_ZERO_OUTSIDE_H

/** \file
 * Zeros around an image, as an algorithm writes them: select(0 <= i && i < extent, x(clamp(i, 0, extent - 1)), 0), or, for an i that begins
 * in it, select(i < extent, x(min(i, extent - 1)), 0).
 */

#include <optional>
#include <string>
#include <vector>

#include "lowering/cuda/tensor_cores/product.h"

namespace halyard {

/** The names of a product's loops over rows, columns and depth. */
struct ProductLoops {
    std::vector<std::string> all, rows;
    std::string stage;  // the beginning of the names of these loops, and of those over steps
};

/** Whether what is read at a coordinate that goes over an edge is what lies at the edge. Rows that are rounded up end at a
 * bound that no sum moves: what is read for them does not matter. */
bool reads_edge(const Halide::Expr &at, const ProductLoops &product);

/** The coordinates i of what is read at `index` where `inside` holds, and is 0 elsewhere. Nothing where `inside` says anything
 * else than that coordinates are in the buffer, or where one that is kept in it is not asked about. */
std::optional<std::vector<Halide::Expr>> zero_outside(const Halide::Expr &inside, const Halide::Expr &index, const std::string &buffer,
                                                      const ProductLoops &product, const CoordinatesOf &coordinates_of);

}  // namespace halyard

#endif
