#include "explore/measure/sampling.h"

#include <algorithm>
#include <chrono>

namespace halyard::explore {

namespace {

using Clock = std::chrono::steady_clock;

CallTimes times_of(const Sampler &sampler, std::vector<double> samples, bool whole) {
    const Timing timing = timing_of(std::move(samples));
    CallTimes t;
    t.result = sampler.result();
    t.samples = timing.samples;
    t.whole = whole;
    t.least = timing.minimum;
    t.lower = timing.lower;
    t.median = timing.median;
    t.upper = timing.upper;
    return t;
}

}  // namespace

CallTimes sample_in_rounds(Sampler &sampler, const std::vector<Round> &rounds, double best) {
    std::vector<double> samples;
    const auto begin = Clock::now();
    bool whole = false;
    for (const Round &round : rounds) {
        const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
        while (sampler.result().ok() && (int(samples.size()) < round.least_samples || elapsed() < round.seconds)) {
            samples.push_back(sampler.sample());
        }
        whole = round.slower == 0 || best <= 0;
        if (!whole && !samples.empty() && *std::min_element(samples.begin(), samples.end()) > round.slower * best) {
            break;
        }
    }
    return times_of(sampler, std::move(samples), whole);
}

}  // namespace halyard::explore
