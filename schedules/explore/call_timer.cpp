#include "call_timer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <vector>

namespace halyard::explore {

namespace {

using Clock = std::chrono::steady_clock;

// A sample is at least this long, so that the clock (30 ns; of the processor's time 200 ns) does not count.
constexpr double kSampleSeconds = 50e-6;

double seconds_of(clockid_t clock) {
    timespec t = {};
    clock_gettime(clock, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

// Seconds of timing, and how many times the best a candidate may take at the end of them to be timed on. Other
// processes slow a sample down by half and more, but hardly ever all of them (Zen 4, 2 cores, a compiler on the other).
struct Round {
    double seconds;
    int least_samples;
    double slower;
};
const Round kRounds[] = {{0, 3, 2}, {0.04, 5, 1.25}, {0.15, 7, 1.08}, {0.4, 9, 0}};

}  // namespace

CallTimes time_calls(const CompiledKernel &kernel, KernelArguments &arguments, int threads, double best) {
    CallTimes times;
    const clockid_t clock = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    std::vector<void *> addresses = arguments.addresses();
    const auto call = [&] {
        const CallResult r = kernel.call(addresses.data());
        times.result = times.result.ok() ? r : times.result;
    };
    const auto timed = [&](int calls) {
        const double begin = seconds_of(clock);
        for (int i = 0; i < calls && times.result.ok(); i++) {
            call();
        }
        return seconds_of(clock) - begin;
    };
    std::vector<double> samples = {timed(1)};  // pages, caches and threads are warm after the check
    const int calls = int(std::clamp(std::ceil(kSampleSeconds / std::max(samples[0], 1e-9)), 1.0, 10000.0));
    const auto begin = Clock::now();
    for (const Round &round : kRounds) {
        const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
        while (times.result.ok() && (int(samples.size()) < round.least_samples || elapsed() < round.seconds)) {
            samples.push_back(timed(calls) / calls);
        }
        times.least = *std::min_element(samples.begin(), samples.end());
        times.whole = round.slower == 0 || best <= 0;
        if (best > 0 && round.slower > 0 && times.least > round.slower * best) {
            break;
        }
    }
    std::sort(samples.begin(), samples.end());
    const size_t n = samples.size();
    times.lower = samples[n / 4];
    times.median = samples[n / 2];
    times.upper = samples[n * 3 / 4];
    times.samples = int(n);
    return times;
}

}  // namespace halyard::explore
