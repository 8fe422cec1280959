#ifndef HALYARD_EXPLORE_LAYOUT_H
#define HALYARD_EXPLORE_LAYOUT_H

/** \file
 * Orders of dimensions in memory. A product of two operands that both run along its sum has nothing for SIMD lanes but
 * the sum itself, unless one operand is stored with its rows innermost; then all that is made of the product is too.
 */

#include "explore/space/choices.h"
#include "explore/space/description.h"

namespace halyard::explore {

/** Reorders dimensions of Funcs as is decided, and all reads of them. */
void choose_layouts(Description &description, Choices &choices);

}  // namespace halyard::explore

#endif
