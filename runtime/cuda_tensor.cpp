// Descriptors for the copy engine, made at each launch: the driver needs some 100 ns for one.

#include "cuda_tensor.h"

#include <atomic>

namespace halyard_cuda {

namespace {

// Of cuTensorMapEncodeTiled, by their values in cuda.h.
constexpr int kFloat16 = 6, kBFloat16 = 9, kNotInterleaved = 0, kSwizzle128 = 3, kPromote256 = 3, kFillZeros = 0;

constexpr int kDevices = 64;
std::atomic<int> known[kDevices];  // multiprocessors of each

}  // namespace

Result encode(TensorMap *map, const Tensor &t) {
    const uint64_t extents[2] = {uint64_t(t.extent[0]), uint64_t(t.extent[1])};
    const uint64_t strides[1] = {uint64_t(t.stride) * 2};
    const uint32_t box[2] = {uint32_t(t.box[0]), uint32_t(t.box[1])}, steps[2] = {1, 1};
    return driver().tensor_encode(map->opaque, t.type == 1 ? kBFloat16 : kFloat16, 2, t.buffer->device, extents, strides, box, steps,
                                  kNotInterleaved, kSwizzle128, kPromote256, kFillZeros);
}

}  // namespace halyard_cuda

using namespace halyard_cuda;

/** Multiprocessors of the device that a launch with this user context goes to: where blocks stay and take tile after
 * tile, there are as many. At least 1; an error shows at the launch. */
extern "C" int halyard_cuda_multiprocessors(void *user_context) {
    const Scope scope(user_context);
    Device device = 0;
    if (scope.error || driver().context_device(&device) || device < 0 || device >= kDevices) {
        return 1;
    }
    int n = known[device].load(std::memory_order_relaxed);
    if (n == 0 && driver().device_attribute(&n, kMultiprocessors, device) == kSuccess) {
        known[device].store(n, std::memory_order_relaxed);
    }
    return n > 0 ? n : 1;
}
