#ifndef HALYARD_LOWERING_CUDA_COMPUTED_TILE_H
#define HALYARD_LOWERING_CUDA_COMPUTED_TILE_H

/** \file
 * A tile of an operand that is computed on the way in, such as one of weights of 8 bits with their scales:
 *
 *   for each 16 bytes of the tile: tile = value(depth, other)
 */

#include <map>
#include <string>

#include "lowering/cuda/print/print.h"
#include "lowering/cuda/tensor_cores/product.h"

namespace halyard {

struct ComputedTile {
    const Operand *operand = nullptr;
    std::string name;  // of the array
    int lines = 0, depth = 0;
    Halide::Expr slot;                                     // the first element of its slot
    Halide::Expr left;                                     // of the depth; elsewhere it is 0. Undefined: all
    std::map<std::string, Halide::Expr> slots_of_sources;  // the same of what it is computed of
    std::map<std::string, std::string> names_of_sources;
};

/** For so many threads, of which `thread` is one. */
void print_computed_tile(const ComputedTile &tile, int threads, KernelPrinter &out);

}  // namespace halyard

#endif
