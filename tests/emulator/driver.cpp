// NVIDIA's driver API over host memory, as much of it as Halide's CUDA runtime and ours call. Everything
// happens at once: streams are only names, which can be captured. A module is a shared object of
// kernels that were compiled over schedules/lowering/cuda/emulator/emulator.h.

#include "driver.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "world.h"

using namespace halyard::emulator::driver;

namespace {

struct ErrorText {
    int code;
    const char *name, *text;
};
const ErrorText kErrors[] = {
    {kSuccess, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {kUnsupportedPtx, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the provided PTX was compiled with an unsupported toolchain."},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {kCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
    {kCaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
};

// A context takes what is in it along.
void empty_context(Context *c) {
    World &w = world();
    for (auto m = w.modules.begin(); m != w.modules.end();) {
        Module *module = *m++;
        if (module->context == c) {
            unload_module(module);
        }
    }
    w.memory[c->device].release_if([&](const DeviceMemory::Allocation &a) { return a.owner == c; });
    c->sticky = kSuccess;
}

}  // namespace

extern "C" {

const char *halyard_emulator_last_error(void) {
    return last_error;
}

void halyard_emulator_set(const char *name, int value) {
    LOCK;
    w.settings.at(name) = value;
}

int halyard_emulator_count(const char *name) {
    LOCK;
    const std::string n = name;
    if (n == "allocations") {
        int count = 0;
        for (const DeviceMemory &m : w.memory) {
            count += int(m.count());
        }
        return count;
    }
    if (n == "contexts") {
        return int(w.contexts.size()) +
               int(std::count_if(std::begin(w.primary), std::end(w.primary), [](const Context &c) { return c.holders > 0; }));
    }
    return n == "modules" ? int(w.modules.size()) : n == "pools" ? int(w.pools.size()) : n == "pushed" ? int(stack.size()) : w.counts[n];
}

int cuInit(unsigned) {
    LOCK;
    if (devices() <= 0) {
        return kNoDevice;
    }
    w.initialised = true;
    return kSuccess;
}

int cuDriverGetVersion(int *version) {
    *version = 13000;
    return kSuccess;
}

int cuGetErrorName(int result, const char **name) {
    for (const ErrorText &e : kErrors) {
        if (e.code == result) {
            *name = e.name;
            return kSuccess;
        }
    }
    *name = nullptr;
    return kInvalidValue;
}

int cuGetErrorString(int result, const char **text) {
    for (const ErrorText &e : kErrors) {
        if (e.code == result) {
            *text = e.text;
            return kSuccess;
        }
    }
    *text = nullptr;
    return kInvalidValue;
}

// ---- Devices: as an H200 ----

int cuDeviceGetCount(int *count) {
    ENTER;
    *count = devices();
    return kSuccess;
}

int cuDeviceGet(int *device, int ordinal) {
    ENTER;
    if (ordinal < 0 || ordinal >= devices()) {
        return kInvalidDevice;
    }
    *device = ordinal;
    return kSuccess;
}

int cuDeviceGetName(char *name, int size, int device) {
    snprintf(name, size, "the emulated device %d", device);
    return kSuccess;
}

int cuDeviceTotalMem_v2(size_t *bytes, int) {
    ENTER;
    *bytes = size_t(w.settings["memory"]) << 20;
    return kSuccess;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    ENTER;
    if (device < 0 || device >= devices()) {
        return kInvalidDevice;
    }
    const std::map<int, int> values = {
        {1, 1024},
        {2, 1024},
        {3, 1024},
        {4, 64},
        {5, 2147483647},
        {6, 65535},
        {7, 65535},
        {8, 49152},
        {9, 65536},
        {10, 32},
        {12, 65536},
        {13, 1980000},
        {16, w.settings["multiprocessors"]},
        {36, 3201000},
        {37, 6144},
        {38, 60 << 20},
        {39, 2048},
        {41, 1},
        {81, 228 * 1024},
        {82, 65536},
        {97, max_shared()},
        {106, 32},
        {111, 1024},
        {115, w.settings["pools"]},
        {75, w.settings["capability"] / 10},
        {76, w.settings["capability"] % 10},
    };
    const auto v = values.find(attribute);
    *value = v == values.end() ? 0 : v->second;
    return kSuccess;
}

// ---- Contexts ----

int cuDevicePrimaryCtxRetain(Context **context, int device) {
    ENTER;
    if (device < 0 || device >= devices()) {
        return kInvalidDevice;
    }
    w.primary[device].holders++;
    *context = &w.primary[device];
    return kSuccess;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
    ENTER;
    Context &c = w.primary[device];
    if (c.holders == 0) {
        return kInvalidContext;
    }
    if (--c.holders == 0) {
        empty_context(&c);
    }
    return kSuccess;
}

int cuCtxCreate_v2(Context **context, unsigned, int device) {
    ENTER;
    if (device < 0 || device >= devices()) {
        return kInvalidDevice;
    }
    *context = new Context{device, false};
    w.contexts.insert(*context);
    stack.push_back(*context);
    return kSuccess;
}

int cuCtxDestroy_v2(Context *context) {
    ENTER;
    if (!w.contexts.erase(context)) {
        return kInvalidContext;
    }
    empty_context(context);
    if (current() == context) {
        stack.pop_back();
    }
    delete context;
    return kSuccess;
}

int cuCtxGetCurrent(Context **context) {
    // Without the lock: the runtime's hot path.
    *context = current();
    return kSuccess;
}

int cuCtxSetCurrent(Context *context) {
    ENTER;
    if (!stack.empty()) {
        stack.pop_back();
    }
    if (context) {
        stack.push_back(context);
    }
    return kSuccess;
}

int cuCtxPushCurrent_v2(Context *context) {
    ENTER;
    if (!context || (context->primary ? context->holders == 0 : !w.contexts.count(context))) {
        return kInvalidContext;
    }
    stack.push_back(context);
    return kSuccess;
}

int cuCtxPopCurrent_v2(Context **context) {
    ENTER_CONTEXT;
    *context = current();
    stack.pop_back();
    return kSuccess;
}

int cuCtxGetDevice(int *device) {
    if (!current()) {
        return kInvalidContext;
    }
    *device = current()->device;
    return kSuccess;
}

int cuCtxGetApiVersion(Context *, unsigned *version) {
    *version = 13000;
    return kSuccess;
}

int cuCtxSynchronize() {
    ENTER_CONTEXT;
    w.counts["synchronisations"]++;
    const int unsafe = unsafe_now();
    return unsafe ? unsafe : current()->sticky;
}

int cuProfilerStop() {
    return kSuccess;
}

}  // extern "C"
