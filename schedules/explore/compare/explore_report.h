#ifndef HALYARD_EXPLORE_EXPLORE_REPORT_H
#define HALYARD_EXPLORE_EXPLORE_REPORT_H

/** \file
 * What a search found, in words: the head of the schedule that it writes.
 */

#include "explore/space/search.h"

namespace halyard::explore {

struct ExploreResult {
    Task task;
    std::vector<Tried> ranking;  // with times that were taken in turns, the fastest first
    size_t tried = 0, failed = 0;
    double seconds = 0;
    uint64_t seed = 1;
    bool of_script = false;  // a given one, whose text stays
};

/** The best schedule, with a comment that says what it does, where it was measured, and what came next. */
std::string with_findings(const ExploreResult &result);

/** "41.2 us, of 212 schedules in 183 s" */
std::string summary(const ExploreResult &result);

}  // namespace halyard::explore

#endif
