#ifndef HALYARD_EXPLORE_COST_H
#define HALYARD_EXPLORE_COST_H

/** \file
 * What a plan may be expected to take. It is coarse: it keeps a search from building what cannot be fast, and what is
 * near is measured.
 */

#include "explain/machine.h"
#include "explore/space/plan.h"

namespace halyard::explore {

/** Seconds: instructions in SIMD lanes or one by one, with all that is computed twice, and bytes that go through the
 * level of memory in which they fit. */
double predict(const Description &description, const Plan &plan, const Machine &machine);

}  // namespace halyard::explore

#endif
