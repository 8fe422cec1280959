#ifndef HALYARD_EXPLORE_REFERENCE_H
#define HALYARD_EXPLORE_REFERENCE_H

/** \file
 * The schedules that candidates are held against.
 */

#include <string>
#include <vector>

#include "explore/task.h"

namespace halyard::explore {

struct Trusted {
    std::string name;    // "rms_norm.unfused", "every Func at the root", "none"
    std::string script;  // its file; "none" for the generator as it is
};

/** In the order in which they are asked; the first that takes the generator parameters of a candidate is the reference.
 * `folder` gets the script that is not in the library. */
std::vector<Trusted> trusted_schedules(const Task &task, const std::string &folder);

/** Parameters of the generator with all those that nobody named: a trusted schedule that declares others, as packed weights,
 * is not of this task. */
Assignments whole_params(const Task &task, Assignments params);

/** Without what is the algorithm's own, on which no argument of the kernel depends: numbers such as the width of a block, and forms
 * such as the way in which it searches. With others the result is the same. */
Assignments without_own_choices(const Task &task, const Assignments &params);

}  // namespace halyard::explore

#endif
