#ifndef HALYARD_COMMAND_TURNS_H
#define HALYARD_COMMAND_TURNS_H

/** \file
 * Contestants that take turns: a sample of each a round, in an order that is drawn anew each time, so that what else the
 * machine does hits all of them. Two are compared round by round, and against the same kernel beside itself.
 */

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "kernel/kernel.h"

namespace halyard {

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

struct Timing {
    double median = 0, lower = 0, upper = 0;  // seconds a call; lower to upper is the middle half of the samples
    double minimum = 0;
    int samples = 0;
};

Timing timing_of(std::vector<double> samples);

/** How many times as fast one is as another, and between what that lies in 19 of 20 runs. */
struct Ratio {
    double times = 1, low = 1, high = 1;
};

/** Of the rounds in which both took part: the median of `slower` over `faster`. */
Ratio ratio_of(const std::vector<double> &faster, const std::vector<double> &slower);

/** What came of the turns. */
struct Contest {
    struct One {
        CallResult result;
        std::vector<double> rounds;  // seconds a call; 0 in a round in which it took no part
        Timing timing;
    };
    std::vector<One> all;
    double noise = 0;  // the part by which the same kernel differed from itself; 0 where that was not asked
    std::string busy;  // what else used the machine meanwhile, as a sentence; "" for nothing

    /** How many times as fast as `b` `a` is. */
    Ratio ratio(size_t a, size_t b) const;
    /** Whether they differ by no more than noise explains. */
    bool tie(size_t a, size_t b) const;
    /** "A is 1.23 times as fast as B (1.20 to 1.26, noise 1.0 %)", "a tie between A and B (0.99 to 1.02, noise 2.1 %)" */
    std::string verdict(size_t a, size_t b, const std::string &name_a, const std::string &name_b) const;
    /** What a difference has to exceed. */
    double threshold() const;
};

nlohmann::json to_json(const Contest &contest);
Contest contest_from_json(const nlohmann::json &json);

/** A difference below this is none, whatever the run says. */
constexpr double kLeastNoise = 0.01;

struct TurnOptions {
    double seconds = 0.5;  // a contestant, about; one whose calls are long leaves after `least_rounds`
    size_t least_rounds = 9;
    size_t most_rounds = 2000;
    int threads = 1;  // that the contestants use, to tell others from them
};

/** `again` is the first of `samplers` once more, with memory of its own; null where the noise is not asked for. */
Contest take_turns(const std::vector<Sampler *> &samplers, Sampler *again, const TurnOptions &options);

}  // namespace halyard

#endif
