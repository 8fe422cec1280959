#ifndef HALYARD_EXPLORE_QUERY_H
#define HALYARD_EXPLORE_QUERY_H

/** \file
 * Asks a generator what there is to schedule.
 */

#include "explore/space/description.h"
#include "kernel/process.h"
#include "explore/task.h"

namespace halyard::explore {

/** A generator parameter that a schedule may choose: another value gives the same result, of the same shape. */
struct FreeParam {
    std::string name;
    std::vector<std::string> values;
    std::string value;    // the generator's own
    bool number = false;  // else a form of the algorithm
};

/** As far as the task leaves them open: the numbers among the generator's parameters on which no output depends, and
 * those with names for values that schedules of the op choose, where they leave the arguments as they are. */
std::vector<FreeParam> free_params(const Task &task);

/** Parameters of the generator that a schedule has to say: numbers that sizes of buffers depend on and of which only the
 * generator knows the default, and what other schedules of the op choose, at its default. */
Assignments declared_params(const Task &task);

/** A given script, which fixes a part of a schedule. */
struct GivenScript {
    std::string file;
    std::vector<std::string> lib_dirs;
    Assignments set;
};

/** Runs the generator with the plugin. Throws Failure with the generator's message, or the script's. */
Description describe_pipeline(const Task &task, const Assignments &params, const GivenScript *script = nullptr);

/** What the generator of the task computes, as a hash; "" for those of the registry, which the version of Halyard names. Throws Failure. */
std::string algorithm_of(const Task &task);

/** The generator with the plugin, which is asked for `request`; nothing is compiled. What it
 * writes goes into `folder`. */
ProcessResult run_plugin(const Task &task, const Assignments &params, const std::string &folder, const nlohmann::json &request);

}  // namespace halyard::explore

#endif
