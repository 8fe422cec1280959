#ifndef HALYARD_LOWERING_CUDA_FUSED_PARTS_H
#define HALYARD_LOWERING_CUDA_FUSED_PARTS_H

/** \file
 * The parts of a kernel with two products, of which the second multiplies what was made of the first:
 *
 *   blocks tile:
 *     before: nests over the tile, such as acc = 0
 *     for step:
 *       scores += a * b                    -- a product of tiles of tensors
 *       nests over rows and columns of scores, as p = f(scores)
 *       out += p * c                       -- a product of p with a tile of a tensor
 *       nests over rows and columns of out, as acc = acc * g + out
 *     after: nests over the tile
 *
 * All that is computed in between is held in registers: values of a tile, or one a row.
 */

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lowering/cuda/tensor_cores/fused_nest.h"
#include "lowering/cuda/tensor_cores/nest_reader.h"
#include "lowering/cuda/tensor_cores/product.h"
#include "lowering/cuda/tensor_cores/tile_kernel.h"

namespace halyard {

struct FusedParts {
    std::array<std::string, 3> block_names;
    int rows = 0;
    std::map<std::string, Held> held;
    std::string step;
    Halide::Expr first_step, steps;
    std::vector<Halide::Expr> promises;  // of each step, that hold as far as Halide could not tell
    TileOfProduct first, second;         // the sums of the second may be renamed
    const TensorCores *first_asked = nullptr, *second_asked = nullptr;
    std::vector<FusedNest> before, between, behind, after;  // `behind` the second product, in the step
    std::vector<FusedNest> together;                        // that put together what warps have which share the steps
    std::vector<std::string> sums_of_lanes;                 // one a row; after the last step, a lane has its own part
    Lets lets;                                              // of the host

    std::vector<std::vector<FusedNest> *> lists() {
        return {&before, &between, &behind, &together, &after};
    }
};

/** Whether a loop of the kernel has both products in it. */
bool has_fused_products(const Kernel &kernel, const std::vector<TensorCores> &products);

/** `host`, `strides`: as of read_tile_program(). Throws through the products' fail(). */
FusedParts read_fused(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host, const Strides &strides);

/** Whether all rows of a tile are a warp's, which then goes over its steps alone. */
bool is_skinny(const FusedParts &parts);

/** Whether an expression has values of single columns in it. */
bool varies_in_row(const Halide::Expr &e);

/** Held values that it reads. */
std::set<std::string> held_in(const Halide::Expr &e);

}  // namespace halyard

#endif
