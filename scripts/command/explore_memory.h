#ifndef HALYARD_COMMAND_EXPLORE_MEMORY_H
#define HALYARD_COMMAND_EXPLORE_MEMORY_H

/** \file
 * The measurements of a search, and the database behind them.
 */

#include "explore/store/database.h"
#include "command/explore_options.h"
#include "explore/measure/measurer.h"

namespace halyard {

/** What was measured before, in this search or another one, is not measured again; nor is anything where candidates are only
 * to be built, for another machine: those it collects. */
class Memory {
public:
    /** Where no runner is given it measures here. */
    Memory(const ExploreOptions &options, explore::Task task, explore::Runner *runner = nullptr);

    std::vector<explore::Measured> operator()(const std::vector<explore::Candidate> &candidates, double best);

    /** One that the others are held against. With patience: it is not taken for granted that it takes too long. */
    explore::Measured patiently(const explore::Candidate &candidate);

    explore::Measurer &measurer() {
        return measurer_;
    }
    explore::Database &database() {
        return database_;
    }

    /** What is to be measured elsewhere. */
    const std::vector<explore::Candidate> &pending() const {
        return pending_;
    }

    void record(const explore::Candidate &candidate, const explore::Measured &measured);

private:
    const explore::Task task_;
    explore::Measurer measurer_;
    explore::Database database_;
    const bool again_, pack_;
    bool patient_ = false;
    std::vector<explore::Candidate> pending_;
};

}  // namespace halyard

#endif
