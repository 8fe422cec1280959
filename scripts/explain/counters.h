#ifndef HALYARD_COMMAND_COUNTERS_H
#define HALYARD_COMMAND_COUNTERS_H

/** \file
 * The processor's counters through perf_event_open, where the kernel lets us.
 */

#include <functional>
#include <string>

namespace halyard {

struct Counters {
    bool available = false;
    std::string why_not;  // in words
    double cycles = 0, instructions = 0, cache_references = 0, cache_misses = 0;
    double page_faults = 0;  // of the whole process; the system counts them everywhere
};

/** Counts while `body` runs, on this thread and those that it starts. */
Counters count_events(const std::function<void()> &body);

}  // namespace halyard

#endif
