#ifndef HALYARD_EXPLORE_TILE_OPERANDS_H
#define HALYARD_EXPLORE_TILE_OPERANDS_H

/** \file
 * Products that the word mma can make: of bf16, or of 8-bit integers, whose operands are read as they are stored, with
 * what is summed together lying together (schedules/lowering/mma.h).
 */

#include <optional>

#include "product.h"

namespace halyard::explore {

struct TileOperands {
    std::set<std::string> inlined;  // Funcs between the product and its operands: they convert, or do nothing
    std::set<std::string> stored;   // Funcs that are operands
};

/** None where there is no such instruction for a product. */
std::optional<TileOperands> tile_operands(const Description &description, const Product &product);

}  // namespace halyard::explore

#endif
