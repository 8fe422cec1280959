#ifndef HALYARD_EXPLORE_SAMPLING_H
#define HALYARD_EXPLORE_SAMPLING_H

/** \file
 * Samples of what takes time, as many as the answer matters: of the host's calls and of a device's alike. Those of several in
 * turns are of kernel/turns.h.
 */

#include <vector>

#include "kernel/turns.h"

namespace halyard::explore {

struct CallTimes {
    CallResult result;                                   // of the first call that failed, if one did
    double least = 0, lower = 0, median = 0, upper = 0;  // seconds a call
    int samples = 0;
    bool whole = false;  // false: given up, as it is slower than `best` by more than noise explains
};

/** Seconds of timing, and how many times the best a candidate may take at the end of them to be timed on; 0 in the last. */
struct Round {
    double seconds;
    int least_samples;
    double slower;
};

/** `best` is the least time known of others; 0 for none. */
CallTimes sample_in_rounds(Sampler &sampler, const std::vector<Round> &rounds, double best);

}  // namespace halyard::explore

#endif
