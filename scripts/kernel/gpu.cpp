#include "kernel/gpu.h"

#include <cstdlib>

#include <dlfcn.h>
#include <fmt/format.h>

namespace halyard {

namespace {

constexpr int kMultiprocessors = 16, kL2Bytes = 38, kMajor = 75, kMinor = 76;  // CUdevice_attribute

template<typename F>
F function(const char *name) {
    return reinterpret_cast<F>(cuda_function(name));
}

std::optional<Gpu> detect_gpu() {
    const auto init = function<int (*)(unsigned)>("cuInit");
    const auto device_get = function<int (*)(int *, int)>("cuDeviceGet");
    const auto name_of = function<int (*)(char *, int, int)>("cuDeviceGetName");
    const auto attribute = function<int (*)(int *, int, int)>("cuDeviceGetAttribute");
    int device = 0;
    char name[256] = "";
    if (!init || !device_get || !name_of || !attribute || init(0) != 0 || device_get(&device, 0) != 0 ||
        name_of(name, sizeof(name), device) != 0) {
        return std::nullopt;
    }
    const auto value = [&](int what) {
        int v = 0;
        attribute(&v, what, device);
        return v;
    };
    Gpu g;
    g.name = name;
    g.multiprocessors = value(kMultiprocessors);
    g.capability = 10 * value(kMajor) + value(kMinor);
    g.l2 = value(kL2Bytes);
    return g;
}

}  // namespace

std::string Gpu::architecture() const {
    return fmt::format("sm_{}{}", capability, capability >= 90 ? "a" : "");
}

const std::optional<Gpu> &gpu() {
    static const std::optional<Gpu> detected = detect_gpu();
    return detected;
}

void *cuda_function(const char *name) {
    static void *const driver = [] {
        const char *path = std::getenv("HALYARD_CUDA_DRIVER");
        return dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    }();
    return driver ? dlsym(driver, name) : nullptr;
}

}  // namespace halyard
