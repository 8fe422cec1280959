#ifndef HALYARD_COMMAND_EXPLORE_BESIDE_H
#define HALYARD_COMMAND_EXPLORE_BESIDE_H

/** \file
 * What a search is held against: schedules that ship or are given, and what Halide's autoschedulers make, timed in turns
 * with what was found.
 */

#include <map>
#include <memory>

#include "explore/compare/compare.h"
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
    bool own = false;          // what the generator schedules itself
    bool ships = false;        // what a build takes where nobody names a schedule

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

/** The schedule that a generator has itself, measured as its C++ says it. */
Beside beside_own(const MeasureOne &measure);

/** The schedule that ships and takes the arguments of the task as they are; nothing where there is none. */
std::vector<explore::Contender> shipped_for(const CommonOptions &options, const explore::Task &task);

/** What Halide's autoschedulers make of the task. They are asked and measured one after the other, for so many seconds in all: each
 * has an equal part of what those before it left, and one that takes longer says so. */
std::vector<Beside> beside_halide(const explore::Task &task, double seconds, explore::Measurer &measurer, const MeasureOne &measure);

/** What came of the turns at the end. */
struct Ending {
    std::shared_ptr<const Contest> contest;
    std::map<std::string, size_t> place;  // of a candidate's id

    bool has(const explore::Candidate &c) const {
        return contest && place.count(c.id()) > 0;
    }
    Explained::InTurns turns(const explore::Candidate &c) const {
        return has(c) ? Explained::InTurns{contest, place.at(c.id())} : Explained::InTurns{};
    }
};

/** Gives those of `found` and of `beside` that are right the times that they have in turns, and puts `found` in order.
 * Of Halide's only those near the fastest one take part: the others are far behind as it is. */
Ending time_in_turns(explore::Measurer &measurer, std::vector<explore::Tried> &found, std::vector<Beside> &beside, double seconds);

/** Whether it has the speed that ends the search, with some slack for times that were not taken in turns. */
bool reaches(const explore::Tried &best, const std::vector<Beside> &beside, double slack = 1);

void print_beside(const explore::Tried &best, const std::vector<Beside> &beside);

/** Which is the best in the end, what was found or one that it is held against, and that in a sentence. */
struct Outcome {
    explore::Candidate best;
    std::string sentence;
};
Outcome outcome(const explore::Task &task, const explore::Tried &found, const std::vector<Beside> &beside, const Ending &ending);

nlohmann::json beside_json(const explore::Task &task, const explore::Tried &best, const std::vector<Beside> &beside, const Ending &ending);

}  // namespace halyard

#endif
