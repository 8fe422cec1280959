#ifndef HALYARD_EXPLORE_RUNNER_H
#define HALYARD_EXPLORE_RUNNER_H

/** \file
 * Where libraries run that were built here: on this machine, or on others (explore/workers).
 */

#include <functional>
#include <memory>

#include "explore/measure/candidate_process.h"

namespace halyard::explore {

/** One that is checked against what a reference gave, and timed. */
struct Run {
    Built built;
    Built reference;
    double best = 0;     // the least time known so far
    double seconds = 0;  // that it may take
};

class Runner {
public:
    virtual ~Runner() = default;

    /** Whether a schedule that is known to be right runs: then it can be the reference of others, as long as its folder is there. */
    virtual Measured reference(const Task &task, const Built &built, double seconds) = 0;

    /** So many, each with nothing of ours beside it on its machine. `begin` is asked for one when its turn comes, and `end` is told
     * what came of it as soon as that is known: on several machines in another order than they began. */
    virtual void run(const Task &task, size_t count, const std::function<Run(size_t)> &begin,
                     const std::function<void(size_t, const Measured &)> &end) = 0;

    /** Several that are known to be right, in turns in one process of one machine, each for about so long. */
    virtual InTurns in_turns(const Task &task, const std::vector<Built> &built, double seconds) = 0;
};

/** On this machine, one after the other. */
std::unique_ptr<Runner> runner_here();

}  // namespace halyard::explore

#endif
