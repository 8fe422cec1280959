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
// Beside one that is longer, loading what others have driven out of a cache does not count.
constexpr double kLongCall = 10e-3;
constexpr int kLeastTurns = 5;

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

// Calls of one kernel, in samples.
class Sampled {
public:
    Sampled(const CompiledKernel &kernel, KernelArguments &arguments, int threads)
        : kernel_(kernel), addresses_(arguments.addresses()),
          clock_(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC) {
        samples_ = {timed(1)};  // pages, caches and threads are warm after the check
        calls_ = int(std::clamp(std::ceil(kSampleSeconds / std::max(samples_[0], 1e-9)), 1.0, 10000.0));
    }

    void sample() {
        samples_.push_back(timed(calls_) / calls_);
    }

    /** After others had the caches. */
    void sample_warm() {
        if (samples_[0] < kLongCall) {
            timed(1);
        }
        sample();
    }

    int samples() const {
        return int(samples_.size());
    }

    double least() const {
        return *std::min_element(samples_.begin(), samples_.end());
    }

    double used() const {
        return used_;
    }

    const CallResult &result() const {
        return result_;
    }

    CallTimes times(bool whole) {
        std::sort(samples_.begin(), samples_.end());
        const size_t n = samples_.size();
        CallTimes t;
        t.result = result_;
        t.least = samples_[0];
        t.lower = samples_[n / 4];
        t.median = samples_[n / 2];
        t.upper = samples_[n * 3 / 4];
        t.samples = int(n);
        t.whole = whole;
        return t;
    }

private:
    double timed(int calls) {
        const double begin = seconds_of(clock_);
        for (int i = 0; i < calls && result_.ok(); i++) {
            const CallResult r = kernel_.call(addresses_.data());
            result_ = result_.ok() ? r : result_;
        }
        const double seconds = seconds_of(clock_) - begin;
        used_ += seconds;
        return seconds;
    }

    const CompiledKernel &kernel_;
    std::vector<void *> addresses_;
    const clockid_t clock_;
    CallResult result_;  // of the first call that failed
    std::vector<double> samples_;
    int calls_ = 1;
    double used_ = 0;
};

}  // namespace

CallTimes time_calls(const CompiledKernel &kernel, KernelArguments &arguments, int threads, double best) {
    Sampled s(kernel, arguments, threads);
    const auto begin = Clock::now();
    bool whole = false;
    for (const Round &round : kRounds) {
        const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
        while (s.result().ok() && (s.samples() < round.least_samples || elapsed() < round.seconds)) {
            s.sample();
        }
        whole = round.slower == 0 || best <= 0;
        if (best > 0 && round.slower > 0 && s.least() > round.slower * best) {
            break;
        }
    }
    return s.times(whole);
}

std::vector<CallTimes> time_in_turns(const std::vector<Timed> &kernels, int threads, double seconds) {
    std::vector<Sampled> all;
    for (const Timed &t : kernels) {
        all.emplace_back(*t.kernel, *t.arguments, threads);
    }
    for (size_t round = 0, busy = 1; busy > 0; round++) {
        busy = 0;
        for (size_t i = 0; i < all.size(); i++) {
            Sampled &s = all[(i + round) % all.size()];
            if (s.result().ok() && (s.used() < seconds || s.samples() < kLeastTurns)) {
                s.sample_warm();
                busy++;
            }
        }
    }
    std::vector<CallTimes> times;
    for (Sampled &s : all) {
        times.push_back(s.times(true));
    }
    return times;
}

}  // namespace halyard::explore
