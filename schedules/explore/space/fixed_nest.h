#ifndef HALYARD_EXPLORE_FIXED_NEST_H
#define HALYARD_EXPLORE_FIXED_NEST_H

/** \file
 * The loops of a Func that a given script has scheduled.
 */

#include "explore/space/plan.h"

namespace halyard::explore {

/** Of the stage that build_nest would order: the update, where there is one. `region` is what is computed at once. */
Nest fixed_nest(const Func &func, const std::map<std::string, double> &region);

/** Whether others may be computed in a loop of a nest of a given script. */
bool may_hold(const Func &func, const Nest &nest, const Level &level);

}  // namespace halyard::explore

#endif
