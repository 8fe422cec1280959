#include "explore/measure/call_timer.h"

#include <memory>

#include "kernel/host_calls.h"

namespace halyard::explore {

namespace {

// Many candidates are timed for a moment: shorter samples than where a few take turns.
constexpr double kSampleSeconds = 50e-6;
constexpr size_t kLeastTurns = 5;

// Other processes slow a sample down, by half and more on two cores with a compiler on the other, but hardly ever all samples.
const std::vector<Round> kRounds = {{0, 3, 2}, {0.04, 5, 1.25}, {0.15, 7, 1.08}, {0.4, 9, 0}};

}  // namespace

CallTimes time_calls(const CompiledKernel &kernel, KernelArguments &arguments, int threads, double best) {
    HostCalls calls(kernel, {arguments.addresses()}, {threads, false, kSampleSeconds});
    return sample_in_rounds(calls, kRounds, best);
}

Contest time_in_turns(const std::vector<Timed> &kernels, const Timed &again, int threads, double seconds) {
    std::vector<std::unique_ptr<HostCalls>> all;
    std::vector<Sampler *> samplers;
    const auto calls = [&](const Timed &t) {
        return std::make_unique<HostCalls>(*t.kernel, std::vector<std::vector<void *>>{t.arguments->addresses()}, HostCallOptions{threads});
    };
    for (const Timed &t : kernels) {
        all.push_back(calls(t));
        samplers.push_back(all.back().get());
    }
    const auto beside_itself = calls(again);
    TurnOptions options;
    options.seconds = seconds;
    options.least_rounds = kLeastTurns;
    options.threads = threads;
    return take_turns(samplers, beside_itself.get(), options);
}

}  // namespace halyard::explore
