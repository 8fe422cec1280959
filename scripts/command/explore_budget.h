#ifndef HALYARD_COMMAND_EXPLORE_BUDGET_H
#define HALYARD_COMMAND_EXPLORE_BUDGET_H

/** \file
 * The time of a search: all of it, with builds, checks and the comparison at the end.
 */

#include <chrono>
#include <string>
#include <vector>

#include "command/explore_beside.h"

namespace halyard {

constexpr double kTurnSeconds = 0.5;  // of timing in turns, a schedule

/** Of "90", "90s", "10m", "1h". Throws UsageError. */
double budget_seconds(const std::string &text);

/** Seconds from where it is made on. */
class Budget {
public:
    explicit Budget(double seconds) : seconds_(seconds) {}

    double left() const;
    std::chrono::steady_clock::time_point end() const;
    /** Of turns at the end, a schedule. */
    double turn_seconds() const;

private:
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    const double seconds_;
};

/** What the end takes, going by builds so far: the best few in turns, their libraries where they are not there any more, and
 * so many columns of the table of fusions. */
double seconds_of_end(const std::vector<explore::Tried> &few, const std::vector<Beside> &beside, const explore::Measurer &measurer,
                      double turn_seconds, size_t tables);

}  // namespace halyard

#endif
