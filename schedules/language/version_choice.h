#ifndef HALYARD_VERSION_CHOICE_H
#define HALYARD_VERSION_CHOICE_H

/** \file
 * Which version of a schedule a call of some sizes takes, and why: the conditions of the versions as scripts say them, and with the
 * sizes put in.
 */

#include <vector>

#include <nlohmann/json.hpp>

#include "language/versions.h"

namespace halyard {

/** A condition: "k.x:dim(0):extent() <= 2048 and ...". With sizes, those in place of the extents: "1000 <= 2048 and ...". */
std::string condition_text(const Halide::Expr &condition, const BufferSizes *sizes = nullptr);

/** {"taken": 1, "versions": [{"set": "rows=4", "when": ..., "with_sizes": ..., "holds": false}, ...]}. Of one that does not hold,
 * "fails" and "fails_with_sizes" are the first part of its condition that fails. The last has no condition. A version that a call
 * could take but for its cost, or takes by it, has a "cost". */
nlohmann::json version_choice(const std::vector<ScheduleVersion> &versions, const BufferSizes &sizes);

}  // namespace halyard

#endif
