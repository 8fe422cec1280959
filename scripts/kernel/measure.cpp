#include "kernel/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/process.h"

namespace halyard {

namespace {

using Clock = std::chrono::steady_clock;

// A sample lasts at least this long, so that the time to read the clock does not count.
constexpr double kSampleSeconds = 300e-6;
constexpr int kLeastRounds = 9, kMostRounds = 1000;

class Runner {
public:
    Runner(Contestant &c, bool cold) : contestant_(c), cold_(cold) {
        for (auto &set : c.sets) {
            addresses_.push_back(set.addresses());
        }
    }

    void prepare() {
        call();  // the pool's threads, page faults, and errors
        double seconds = run(1);
        for (int i = 0; i < 2 && seconds < 0.1; i++) {
            seconds = std::min(seconds, run(1));
        }
        calls_ = static_cast<int>(std::clamp(std::ceil(kSampleSeconds / std::max(seconds, 1e-9)), 1.0, 100000.0));
        sample_seconds_ = calls_ * seconds;
    }

    double sample_seconds() const {
        return sample_seconds_ * (cold_ ? 1 : 1 + 1.0 / calls_);
    }

    void sample() {
        if (!cold_) {
            call();  // another contestant has had the cache
        }
        samples_.push_back(run(calls_) / calls_);
    }

    Timing timing() {
        std::sort(samples_.begin(), samples_.end());
        const size_t n = samples_.size();
        Timing t;
        t.median = n % 2 ? samples_[n / 2] : (samples_[n / 2 - 1] + samples_[n / 2]) / 2;
        t.minimum = samples_.front();
        t.spread = (samples_[n * 3 / 4] - samples_[n / 4]) / t.median;
        t.samples = static_cast<int>(n);
        return t;
    }

private:
    void call() {
        if (cold_) {
            next_ = (next_ + 1) % addresses_.size();
        }
        const CallResult r = contestant_.kernel->call(addresses_[next_].data());
        if (!r.ok()) {
            throw Failure(fmt::format("{}: the kernel failed: {}", contestant_.name, r.message));
        }
    }

    double run(int calls) {
        check_signals();
        const auto begin = Clock::now();
        for (int i = 0; i < calls; i++) {
            call();
        }
        return std::chrono::duration<double>(Clock::now() - begin).count();
    }

    Contestant &contestant_;
    const bool cold_;
    std::vector<std::vector<void *>> addresses_;
    std::vector<double> samples_;
    size_t next_ = 0;
    int calls_ = 1;
    double sample_seconds_ = 0;
};

}  // namespace

std::vector<Timing> measure(std::vector<Contestant> &contestants, const MeasureOptions &options) {
    std::vector<Runner> runners;
    double round_seconds = 0;
    for (auto &c : contestants) {
        runners.emplace_back(c, options.cold);
        runners.back().prepare();
        round_seconds += runners.back().sample_seconds();
    }
    const double wanted = options.seconds * double(runners.size()) / std::max(round_seconds, 1e-9);
    const int rounds = static_cast<int>(std::clamp(wanted, double(kLeastRounds), double(kMostRounds)));
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < runners.size(); i++) {
            runners[(i + size_t(round)) % runners.size()].sample();
        }
    }
    std::vector<Timing> timings;
    for (auto &r : runners) {
        timings.push_back(r.timing());
    }
    return timings;
}

}  // namespace halyard
