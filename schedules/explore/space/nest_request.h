#ifndef HALYARD_EXPLORE_NEST_REQUEST_H
#define HALYARD_EXPLORE_NEST_REQUEST_H

/** \file
 * What of a plan in the making decides how the loops of a Func are cut.
 */

#include "explore/space/levels.h"
#include "explore/space/nest_builder.h"

namespace halyard::explore {

/** For a Func whose region is known; whether it is a root, and for how many threads, is left to say. */
NestRequest nest_request(const Draft &draft, const Levels &levels, const Func &f);

}  // namespace halyard::explore

#endif
