#ifndef HALYARD_EXPLORE_HALIDE_H
#define HALYARD_EXPLORE_HALIDE_H

/** \file
 * What Halide's own autoschedulers make of a task, and what its generator does, as Lua: baselines, and where a search may begin.
 */

#include <string>
#include <vector>

#include "explore/task.h"

namespace halyard::explore {

/** Those that are for the target of the task, the quickest first. */
std::vector<std::string> halide_schedulers(const Task &task);

struct HalideSchedule {
    /** In words, where that gives the very loops that the autoscheduler made; else a script that calls it. */
    Candidate candidate;
    std::string problem;     // why it is not in words; "" where it is
    bool timed_out = false;  // before it was known what it makes
};

/** Takes no longer than the task's limit on building. Throws Failure where the generator cannot be asked. */
HalideSchedule halide_schedule(const Task &task, const std::string &scheduler);

/** What --beside, --compare and --translate call the schedule that a generator has itself. */
extern const char *const kOwn;

/** That schedule as a candidate. It is built as its C++ says it, with nothing of ours. */
Candidate own_candidate();

struct OwnSchedule {
    std::string lua;      // the same loops in words; "" where there are none
    std::string problem;  // why
};

/** Throws UsageError where a task can have none: it is of the registry, or for CUDA. */
void need_own(const std::string &op, const std::string &generator, const std::string &target);

/** Throws UsageError for what need_own() refuses, and Failure where the task's generator schedules nothing itself, where no autoscheduler is
 * asked (`!using_autoscheduler()`), or cannot be asked. */
void check_own(const Task &task);

/** That schedule in words. Throws as check_own() does. */
OwnSchedule own_schedule(const Task &task);

/** The lines of a loop nest, as the plugin reports it, without the names of loops, and with Funcs by number: the same
 * for two schedules that differ in names only. */
std::vector<std::string> nest_without_names(const nlohmann::json &nest);

}  // namespace halyard::explore

#endif
