#include "kernel/host_calls.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

#include "kernel/process.h"

namespace halyard {

namespace {

// Beside one that is longer, loading what others have driven out of a cache does not count.
constexpr double kLongCall = 10e-3;

double seconds_of(clockid_t clock) {
    timespec t = {};
    clock_gettime(clock, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

}  // namespace

HostCalls::HostCalls(const CompiledKernel &kernel, std::vector<std::vector<void *>> sets, const HostCallOptions &options)
    : kernel_(kernel), sets_(std::move(sets)), options_(options) {
    single_ = timed(1);
    for (int i = 0; i < 2 && single_ < kLongCall; i++) {
        single_ = std::min(single_, timed(1));
    }
    calls_ = int(std::clamp(std::ceil(options_.sample_seconds / std::max(single_, 1e-9)), 1.0, 100000.0));
    used_ = 0;
}

double HostCalls::sample() {
    // A long call is a sample by itself: it is not made once more.
    return single_ >= kLongCall && std::exchange(fresh_, false) ? single_ : timed(calls_) / calls_;
}

void HostCalls::warm() {
    if (!options_.cold) {
        set_ = (set_ + 1) % sets_.size();  // where memory lies makes a difference too
    }
    if (!options_.cold && single_ < kLongCall) {
        timed(1);
    }
}

double HostCalls::timed(int calls) {
    check_signals();
    const clockid_t clock = options_.threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    const double begin = seconds_of(clock), wall = seconds_of(CLOCK_MONOTONIC);
    for (int i = 0; i < calls && result_.ok(); i++) {
        if (options_.cold) {
            set_ = (set_ + 1) % sets_.size();
        }
        const CallResult r = kernel_.call(sets_[set_].data());
        result_ = result_.ok() ? r : result_;
    }
    double seconds = seconds_of(clock) - begin;
    if (seconds <= 0) {  // on a virtual machine whose processor is taken the clock of a thread may stand still
        seconds = std::max(seconds_of(CLOCK_MONOTONIC) - wall, 1e-9);
    }
    used_ += seconds;
    return seconds;
}

}  // namespace halyard
