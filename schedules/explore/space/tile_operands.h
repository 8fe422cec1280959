#ifndef HALYARD_EXPLORE_TILE_OPERANDS_H
#define HALYARD_EXPLORE_TILE_OPERANDS_H

/** \file
 * Products that the word mma can make: of bf16, of 8-bit integers, or of float32, whose operands are read as they are stored,
 * with what is summed together lying together (schedules/lowering/host/mma.h).
 */

#include <optional>

#include "explore/space/product.h"

namespace halyard::explore {

struct TileOperands {
    std::set<std::string> inlined;  // Funcs between the product and its operands: they convert, or do nothing
    std::set<std::string> stored;   // Funcs that are operands
    int64_t group = 0;              // how many elements of the sum lie together: 1 of float32
};

/** None where there is no such instruction for a product. */
std::optional<TileOperands> tile_operands(const Description &description, const Product &product);

}  // namespace halyard::explore

#endif
