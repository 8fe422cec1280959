#include "explore/measure/sampling.h"

#include <algorithm>
#include <chrono>

namespace halyard::explore {

namespace {

using Clock = std::chrono::steady_clock;

CallTimes times_of(const Sampler &sampler, std::vector<double> samples, bool whole) {
    std::sort(samples.begin(), samples.end());
    const size_t n = samples.size();
    CallTimes t;
    t.result = sampler.result();
    t.samples = int(n);
    t.whole = whole;
    if (n > 0) {
        t.least = samples[0];
        t.lower = samples[n / 4];
        t.median = samples[n / 2];
        t.upper = samples[n * 3 / 4];
    }
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

std::vector<CallTimes> sample_in_turns(const std::vector<Sampler *> &samplers, double seconds, size_t least_samples) {
    std::vector<std::vector<double>> samples(samplers.size());
    for (size_t round = 0, busy = 1; busy > 0; round++) {
        busy = 0;
        for (size_t n = 0; n < samplers.size(); n++) {
            const size_t i = (n + round) % samplers.size();
            Sampler &s = *samplers[i];
            if (s.result().ok() && (s.used() < seconds || samples[i].size() < least_samples)) {
                s.warm();
                samples[i].push_back(s.sample());
                busy++;
            }
        }
    }
    std::vector<CallTimes> times;
    for (size_t i = 0; i < samplers.size(); i++) {
        times.push_back(times_of(*samplers[i], std::move(samples[i]), true));
    }
    return times;
}

}  // namespace halyard::explore
