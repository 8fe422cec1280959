#ifndef HALYARD_EXPLORE_LUA_HELPERS_H
#define HALYARD_EXPLORE_LUA_HELPERS_H

/** \file
 * Parts of a plan that are what a helper of schedules/lib says: a person would have called it.
 */

#include <optional>
#include <string>

#include "explore/space/plan.h"

namespace halyard::explore {

struct HelperCall {
    std::string module;  // "reduce" of lib.reduce
    std::string text;
};

/** For all of a Func that is computed at a loop of `consumer`; both as a script says them. */
std::optional<HelperCall> helper_of(const Func &f, const Placed &placed, const std::string &self, const std::string &consumer);

/** For the loops of an output. `named`: another Func names the loop over tasks. */
std::optional<HelperCall> helper_of(const Func &f, const Nest &nest, const std::string &self, bool named);

}  // namespace halyard::explore

#endif
