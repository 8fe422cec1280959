#ifndef HALYARD_EXPLORE_PLANNER_H
#define HALYARD_EXPLORE_PLANNER_H

/** \file
 * From decisions to a plan. What is not decided is done as an engineer would do it: row statistics are computed where
 * their row is used, whatever is used once is inlined, products are summed in registers.
 */

#include "explore/space/plan.h"

namespace halyard::explore {

/** Asks `choices` for everything that could be otherwise. */
Plan make_plan(const Description &description, Choices &choices, int threads);

}  // namespace halyard::explore

#endif
