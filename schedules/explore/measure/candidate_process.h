#ifndef HALYARD_EXPLORE_CANDIDATE_PROCESS_H
#define HALYARD_EXPLORE_CANDIDATE_PROCESS_H

/** \file
 * A candidate's build and its run: each is one `halyard candidate`, which may crash, hang or use up its memory.
 */

#include <string>
#include <vector>

#include "kernel/turns.h"
#include "explore/task.h"

namespace halyard::explore {

struct Built {
    std::string directory;  // holds kernel.so
    Assignments params;     // of the generator, all that hold
    Measured measured;      // status and message of the build
    bool floats = false;    // what it stores is made of floats somewhere, whatever types its arguments have

    std::string library() const {
        return directory + "/kernel.so";
    }
};

/** Runs a step (worker.h) with its files in the directory. Null where the process did not get as far as a result; `m` then
 * says how it ended. */
nlohmann::json run_step(const std::string &directory, const nlohmann::json &job, double seconds, Measured &m);

/** Builds the candidate, or the script file where one is given, in a directory that is made. */
Built build_candidate(const Task &task, const std::string &directory, const std::string &script, const Candidate &candidate,
                      double seconds);

/** Several side by side, `jobs` at a time; 0: a process a processor. */
std::vector<Built> build_candidates(const Task &task, const std::vector<std::string> &directories, const std::vector<Candidate> &candidates,
                                    int jobs);

/** Calls it. With `compare` its outputs are held against those of that file and it is timed; without, they are written
 * there. */
Measured run_built(const Task &task, const Built &built, const std::string &outputs, bool compare, double best, double seconds);

/** What came of turns: a contestant for each candidate, of which one that is not ok has no rounds. */
struct InTurns {
    std::vector<Measured> measured;
    Contest contest;
};

/** Several that are known to be right, in turns in one process, each for about so long. Where that dies, all do. */
InTurns run_in_turns(const Task &task, const std::vector<Built> &built, double seconds);

}  // namespace halyard::explore

#endif
