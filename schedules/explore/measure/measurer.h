#ifndef HALYARD_EXPLORE_MEASURER_H
#define HALYARD_EXPLORE_MEASURER_H

/** \file
 * Builds, checks and times candidates, each in processes of its own with limits on time and memory. Whatever a
 * candidate does costs that candidate, and its Measured says what it was.
 */

#include <chrono>
#include <functional>
#include <optional>
#include <memory>
#include <vector>

#include "explore/measure/runner.h"
#include "kernel/process.h"
#include "explore/task.h"

namespace halyard::explore {

class Measurer {
public:
    /** Throws Failure or UsageError where the task itself cannot be done: no such op, no such dimension. What is built here runs
     * where the runner says, which outlives the measurer. */
    explicit Measurer(Task task, Runner *runner = nullptr);
    ~Measurer();

    const Task &task() const;

    /** From here on. */
    void set_limits(const Limits &limits);

    /** A candidate that is at it then is given up: Status::kPending, as nothing is known of it. What candidates are checked
     * against has up to ten seconds more, and is a Failure then: without it nothing can be said of any. */
    void end_at(std::chrono::steady_clock::time_point end);

    /** Some candidates have less time than there is for what they are checked against; without a time they have all of it. */
    void end_candidates_at(std::optional<std::chrono::steady_clock::time_point> end = {});

    /** Builds and runs what candidates are checked against, which the first candidate does otherwise. */
    void prepare();

    /** Its library stays until the end, as those of the fastest few do, so that in_turns() need not build it again. */
    void keep(const Candidate &candidate);

    /** Whether its library is there. */
    bool is_built(const Candidate &candidate) const;

    /** Builds, checks and times one candidate. `best` is the least time known so far: one that is clearly slower is
     * timed for a moment only. Throws Interrupted after SIGINT, and Failure where there is no right schedule to check
     * against. */
    Measured measure(const Candidate &candidate, double best = 0);

    /** The same for several: they are built side by side, `jobs` at a time (0: a process a processor), and then checked
     * and timed one after the other on each machine with nothing beside them. The best of those before counts for those after.
     * `each` gets a candidate's number and result as soon as there is one, so that it can be kept before the next one is tried. */
    std::vector<Measured> measure(const std::vector<Candidate> &candidates, double best = 0, int jobs = 0,
                                  const std::function<void(size_t, const Measured &)> &each = {});

    /** Times of candidates that are known to be right, taken in turns in one process, so that what else the machine does
     * hits all of them: each for about so long, one whose calls are long for a few. One that cannot be called any more says
     * so; where the process dies, all do. */
    InTurns in_turns(const std::vector<Candidate> &candidates, double seconds);

private:
    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
};

/** One candidate of a task. */
Measured measure(const Task &task, const Candidate &candidate);

}  // namespace halyard::explore

#endif
