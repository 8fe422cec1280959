#ifndef HALYARD_COMMAND_EXPLORE_BESIDE_H
#define HALYARD_COMMAND_EXPLORE_BESIDE_H

/** \file
 * What a search is held against: schedules that ship or are given, and what Halide's autoschedulers make, timed in turns
 * with what was found.
 */

#include "explore/measure/measurer.h"
#include "command/options.h"
#include "explore/space/search.h"

namespace halyard {

/** What measures one candidate, or remembers it. */
using MeasureOne = std::function<explore::Measured(const explore::Candidate &)>;

struct Beside {
    std::string name;
    bool halide = false;  // then the candidate's origin is the autoscheduler
    explore::Candidate candidate;
    explore::Measured measured;  // by itself, then in turns
    bool in_turns = false;
    double times = 0;          // of its speed ends the search; 0: it has no say in that
    std::string problem = {};  // of one of Halide's: why it is not in words

    bool ok() const {
        return measured.ok();
    }
};

/** Their task has time for a compiler that takes minutes, as Halide's autoschedulers do. */
explore::Task patient(explore::Task task);

/** The task with the arguments that a schedule wants: its generator's parameters, but for those that a search chooses. */
explore::Task with_interface(const CommonOptions &options, explore::Task task, const std::string &schedule);

/** Parameters of the generator without those that a search chooses. */
Assignments beside_free(const explore::Task &task, Assignments params);

std::vector<Beside> beside_shipped(const CommonOptions &options, const explore::Task &task, const std::vector<std::string> &schedules,
                                   const MeasureOne &measure);

/** What Halide's autoschedulers make of the task, but for those that `have` has; where the task is not patient, without
 * those that take too long. They are asked and measured one after the other, for so many seconds in all. */
std::vector<Beside> beside_halide(const explore::Task &task, double seconds, const MeasureOne &measure,
                                  const std::vector<Beside> &have = {});

/** Gives those of `found` and of `beside` that are right the times that they have in turns, and puts `found` in order.
 * Of Halide's only those near the fastest one take part: the others are far behind as it is. */
void time_in_turns(const explore::Task &task, std::vector<explore::Tried> &found, std::vector<Beside> &beside, double seconds);

/** Whether `best` has so many times the speed of each as ends the search, `slack` times that will do. */
bool reaches(const explore::Tried &best, const std::vector<Beside> &beside, double slack = 1);

/** "1.08 times as fast as rms_norm": a line each. */
void print_beside(const explore::Tried &best, const std::vector<Beside> &beside);

nlohmann::json beside_json(const explore::Task &task, const explore::Tried &best, const std::vector<Beside> &beside);

}  // namespace halyard

#endif
