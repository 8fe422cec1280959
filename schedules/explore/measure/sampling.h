#ifndef HALYARD_EXPLORE_SAMPLING_H
#define HALYARD_EXPLORE_SAMPLING_H

/** \file
 * Samples of what takes time, as many as the answer matters: of the host's calls and of a device's alike.
 */

#include <vector>

#include "kernel/kernel.h"

namespace halyard::explore {

struct CallTimes {
    CallResult result;                                   // of the first call that failed, if one did
    double least = 0, lower = 0, median = 0, upper = 0;  // seconds a call
    int samples = 0;
    bool whole = false;  // false: given up, as it is slower than `best` by more than noise explains
};

/** Calls of one kernel. */
class Sampler {
public:
    virtual ~Sampler() = default;

    /** Seconds a call. */
    virtual double sample() = 0;
    /** One more call where that is worth it, after others had the caches. */
    virtual void warm() {}
    /** Of the first call that failed. */
    virtual const CallResult &result() const = 0;
    /** Seconds that samples have taken so far. */
    virtual double used() const = 0;
};

/** Seconds of timing, and how many times the best a candidate may take at the end of them to be timed on; 0 in the last. */
struct Round {
    double seconds;
    int least_samples;
    double slower;
};

/** `best` is the least time known of others; 0 for none. */
CallTimes sample_in_rounds(Sampler &sampler, const std::vector<Round> &rounds, double best);

/** Samples of all of them in turns, in an order that rotates, until each had its seconds and this number. */
std::vector<CallTimes> sample_in_turns(const std::vector<Sampler *> &samplers, double seconds, size_t least_samples);

}  // namespace halyard::explore

#endif
