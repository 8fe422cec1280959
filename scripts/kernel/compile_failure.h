#ifndef HALYARD_COMMAND_COMPILE_FAILURE_H
#define HALYARD_COMMAND_COMPILE_FAILURE_H

/** \file
 * What to say of a generator that died: which limit it hit, the directive that it was at, and what in the schedule is
 * large enough to be the cause.
 */

#include <nlohmann/json.hpp>

#include "kernel/generate.h"
#include "kernel/process.h"

namespace halyard {

/** Whether a process hit its bound of memory, as far as what it printed tells. */
bool ran_out_of_memory(const ProcessResult &result, const ProcessOptions &options);

/** The message for a generator that was stopped, was killed or ran out of memory. `report` is what the plugin wrote when
 * the script had ended (null where it did not come so far), `last` the directive that was being applied. */
std::string death_text(const Plan &plan, const ProcessResult &result, const ProcessOptions &options, const nlohmann::json &report,
                       const nlohmann::json &last, const std::string &detail);

}  // namespace halyard

#endif
