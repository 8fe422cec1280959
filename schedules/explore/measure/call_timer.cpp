#include "explore/measure/call_timer.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <memory>
#include <utility>

namespace halyard::explore {

namespace {

// A sample is at least this long, so that the time to read the clock does not count, least of all that of the processor's time.
constexpr double kSampleSeconds = 50e-6;
// Beside one that is longer, loading what others have driven out of a cache does not count.
constexpr double kLongCall = 10e-3;
constexpr size_t kLeastTurns = 5;

// Other processes slow a sample down, by half and more on two cores with a compiler on the other, but hardly ever all samples.
const std::vector<Round> kRounds = {{0, 3, 2}, {0.04, 5, 1.25}, {0.15, 7, 1.08}, {0.4, 9, 0}};

double seconds_of(clockid_t clock) {
    timespec t = {};
    clock_gettime(clock, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

// Of some calls a sample.
class HostCalls : public Sampler {
public:
    HostCalls(const CompiledKernel &kernel, KernelArguments &arguments, int threads)
        : kernel_(kernel), addresses_(arguments.addresses()), clock_(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC) {
        single_ = timed(1);  // pages, caches and threads are warm after the check
        calls_ = int(std::clamp(std::ceil(kSampleSeconds / std::max(single_, 1e-9)), 1.0, 10000.0));
    }

    double sample() override {
        // A long call is a sample by itself: it is not made once more.
        return calls_ == 1 && std::exchange(fresh_, false) ? single_ : timed(calls_) / calls_;
    }
    void warm() override {
        if (single_ < kLongCall) {
            timed(1);
        }
    }
    const CallResult &result() const override {
        return result_;
    }
    double used() const override {
        return used_;
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
    CallResult result_;
    double single_ = 0, used_ = 0;
    int calls_ = 1;
    bool fresh_ = true;  // what single_ says is no sample yet
};

}  // namespace

CallTimes time_calls(const CompiledKernel &kernel, KernelArguments &arguments, int threads, double best) {
    HostCalls calls(kernel, arguments, threads);
    return sample_in_rounds(calls, kRounds, best);
}

std::vector<CallTimes> time_in_turns(const std::vector<Timed> &kernels, int threads, double seconds) {
    std::vector<std::unique_ptr<HostCalls>> all;
    std::vector<Sampler *> samplers;
    for (const Timed &t : kernels) {
        all.push_back(std::make_unique<HostCalls>(*t.kernel, *t.arguments, threads));
        samplers.push_back(all.back().get());
    }
    return sample_in_turns(samplers, seconds, kLeastTurns);
}

}  // namespace halyard::explore
