#ifndef HALYARD_EXPLORE_SEARCH_H
#define HALYARD_EXPLORE_SEARCH_H

/** \file
 * Looks for the fastest schedule of a task: a good guess first, then other answers to its decisions, one at a time and
 * some at once. The same seed gives the same order of candidates for the same measurements.
 */

#include <functional>
#include <memory>

#include "explore/space/choices.h"
#include "explore/space/plan.h"
#include "explore/space/query.h"
#include "explore/task.h"

namespace halyard {
struct Machine;
}

namespace halyard::explore {

/** A schedule that the search made, with what it decided. */
struct Proposal {
    Answers answers;                  // all of them
    std::vector<ChoicePoint> points;  // the decisions as they came up
    Plan plan;
    std::string fusion;     // its form in a word, where that is not the plan's: the script
    bool by_rules = false;  // for CUDA: no script was given, and plan is empty
    Candidate candidate;

    std::string form() const {
        return fusion.empty() ? plan.fusion() : fusion;
    }
};

/** Builds and times what is proposed; what it has measured before it may remember. */
using MeasureAll = std::function<std::vector<Measured>(const std::vector<Candidate> &, double best)>;

struct Tried {
    Proposal proposal;
    Measured measured;
};

struct SearchOptions {
    std::vector<Tried> seeds = {};  // that somebody else made: one of them may be the fastest in the end
    double seconds = 600;
    uint64_t seed = 1;
    size_t most = 100000;                 // candidates
    int at_once = 2;                      // that are built side by side
    std::vector<Candidate> scripts = {};  // what they leave open is searched, and nothing else; the first is the guess
    bool rules = false;                   // for CUDA: schedules by rules (cuda_space.h) beside those
    size_t pending = 0;                   // not 0: ends after so many whose time is not known yet
    std::function<void(const std::string &)> say = [](const std::string &) {};
    std::shared_ptr<const Machine> machine = {};  // for the host: the one that is measured on, where that is another
    std::string baseline = {};                    // what it is held against, as progress shows it: "softmax 41.2 us"
    /** Seconds of its time that are needed after it, with the best few so far. */
    std::function<double(const std::vector<Tried> &)> reserve = [](const std::vector<Tried> &) { return 0.0; };
    /** Asked with each that is the fastest so far, and now and then with the best few: whether the search may end. */
    std::function<bool(const std::vector<Tried> &)> enough = [](const std::vector<Tried> &) { return false; };
};

class Search {
public:
    Search(Task task, SearchOptions options, MeasureAll measure);
    ~Search();

    /** Until the time is over, nothing is left, or it is enough; called again it goes on. Throws Failure where no
     * candidate could be made at all. */
    void run();

    /** Whether it ended because it was told that what it has is enough. */
    bool ended_early() const;

    /** Right ones, the fastest first. */
    std::vector<Tried> ranking() const;
    size_t tried() const;
    size_t failures() const;
    size_t pending() const;
    const std::string &last_failure() const;
    double seconds() const;

    /** The schedule of some answers; the same for the same answers. */
    Proposal propose(const Answers &answers);

private:
    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace halyard::explore

#endif
