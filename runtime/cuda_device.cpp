// What compiled pipelines ask about the device that they are called on.

#include <atomic>

#include "cuda_api.h"

namespace halyard_cuda {

namespace {

constexpr int kDevices = 64;

// A number that stays what it is, for each device; 0 where nobody has asked yet.
using Known = std::atomic<int>[kDevices];
Known multiprocessors, capability;

int attribute(DeviceAttribute which, Device device) {
    int n = 0;
    return driver().device_attribute(&n, which, device) == kSuccess ? n : 0;
}

// Of the device that a launch with this user context goes to; 0 on an error.
int ask(void *user_context, Known &known, int (*of)(Device)) {
    const Scope scope(user_context);
    Device device = 0;
    if (scope.error || driver().context_device(&device) || device < 0 || device >= kDevices) {
        return 0;
    }
    int n = known[device].load(std::memory_order_relaxed);
    if (n == 0) {
        n = of(device);
        known[device].store(n, std::memory_order_relaxed);
    }
    return n;
}

}  // namespace

}  // namespace halyard_cuda

using namespace halyard_cuda;

/** Multiprocessors of the device: where blocks stay and take tile after tile, there are as many. At least 1; an error
 * shows at the launch. */
extern "C" int halyard_cuda_multiprocessors(void *user_context) {
    const int n = ask(user_context, multiprocessors, [](Device d) { return attribute(kMultiprocessors, d); });
    return n > 0 ? n : 1;
}

/** Its compute capability, 90 for 9.0, by which a library picks its kernels. 0 on an error, which shows at the launch. */
extern "C" int halyard_cuda_capability(void *user_context) {
    return ask(user_context, capability, [](Device d) { return 10 * attribute(kCapabilityMajor, d) + attribute(kCapabilityMinor, d); });
}
