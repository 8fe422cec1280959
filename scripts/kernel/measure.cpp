#include "kernel/measure.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/host_calls.h"

namespace halyard {

namespace {

// Of a contestant in the cache: as memory lies differently, so that no single place decides.
constexpr size_t kWarmSets = 4;

std::unique_ptr<HostCalls> calls_of(Contestant &c, const MeasureOptions &options, bool again) {
    std::vector<std::vector<void *>> addresses;
    for (auto &set : c.sets) {
        addresses.push_back(set.addresses());
    }
    // Beside itself it has the others of its sets.
    const size_t half = options.cold ? addresses.size() / 2 : std::min(kWarmSets, addresses.size() / 2);
    if (again) {
        std::rotate(addresses.begin(), addresses.begin() + std::ptrdiff_t(half), addresses.end());
    }
    if (!options.cold) {
        addresses.resize(std::min(std::max<size_t>(half, 1), kWarmSets));
    }
    return std::make_unique<HostCalls>(*c.kernel, std::move(addresses), HostCallOptions{options.threads, options.cold});
}

}  // namespace

Contest measure(std::vector<Contestant> &contestants, const MeasureOptions &options) {
    std::vector<std::unique_ptr<HostCalls>> calls;
    std::vector<Sampler *> samplers;
    for (auto &c : contestants) {
        calls.push_back(calls_of(c, options, false));
        samplers.push_back(calls.back().get());
    }
    const auto again = contestants.size() > 1 ? calls_of(contestants.front(), options, true) : nullptr;
    TurnOptions turns;
    turns.seconds = options.seconds;
    turns.threads = options.threads;
    Contest c = take_turns(samplers, again.get(), turns);
    for (size_t i = 0; i < c.all.size(); i++) {
        if (!c.all[i].result.ok()) {
            throw Failure(fmt::format("{}: the kernel failed: {}", contestants[i].name, c.all[i].result.message));
        }
    }
    return c;
}

}  // namespace halyard
