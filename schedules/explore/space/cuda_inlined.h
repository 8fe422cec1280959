#ifndef HALYARD_EXPLORE_CUDA_INLINED_H
#define HALYARD_EXPLORE_CUDA_INLINED_H

/** \file
 * Which Funcs a schedule for CUDA inlines.
 */

#include "explore/space/choices.h"
#include "explore/space/graph.h"
#include "explore/space/product.h"

namespace halyard::explore {

/** `products` as find_products() has them. */
std::set<std::string> choose_inlined(const Description &description, Choices &choices, const std::map<std::string, Product> &products);

}  // namespace halyard::explore

#endif
