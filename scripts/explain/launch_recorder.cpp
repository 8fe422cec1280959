#include "explain/launch_recorder.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "lowering/multiprocessor.h"

// What the runtimes of Halide and Halyard call, as NVIDIA's driver API has it. What is missing here they take for a
// function that is not supported.

namespace {

struct Module {
    const void *image;
    std::map<std::string, struct Function *> functions;
};
struct Function {
    const Module *module;
    std::string name;
};

// One device, one context; a library that is asked for its launches calls from one thread.
std::deque<Module> modules;
std::deque<Function> functions;
std::vector<HalyardLaunch> launches;
std::map<uint64_t, size_t> allocated;
size_t memory = 0, most_memory = 0;
uint64_t next_address = uint64_t(1) << 40;
int context, pool;
void *current = nullptr;

int setting(const char *name, int otherwise) {
    const char *value = getenv(name);
    return value && *value ? atoi(value) : otherwise;
}

int allocate(uint64_t *pointer, size_t bytes) {
    constexpr uint64_t kAlignment = 512;
    *pointer = next_address;
    next_address += (bytes + 2 * kAlignment) / kAlignment * kAlignment;
    allocated[*pointer] = bytes;
    memory += bytes;
    most_memory = std::max(most_memory, memory);
    return 0;
}

int release(uint64_t pointer) {
    const auto found = allocated.find(pointer);
    if (found != allocated.end()) {
        memory -= found->second;
        allocated.erase(found);
    }
    return 0;
}

}  // namespace

extern "C" {

const HalyardLaunch *halyard_recorded_launches(size_t *count) {
    *count = launches.size();
    return launches.data();
}

size_t halyard_recorded_memory() {
    return most_memory;
}

int cuInit(unsigned) {
    return 0;
}
int cuDriverGetVersion(int *version) {
    *version = 13000;
    return 0;
}
int cuDeviceGetCount(int *count) {
    *count = 1;
    return 0;
}
int cuDeviceGet(int *device, int) {
    *device = 0;
    return 0;
}
int cuDeviceGetName(char *name, int size, int) {
    snprintf(name, size_t(size), "no device");
    return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int) {
    *bytes = size_t(1) << 40;
    return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
    const int capability = setting("HALYARD_RECORDER_CAPABILITY", 90);
    switch (attribute) {
    case 1: *value = 1024; break;  // threads of a block
    case 2:
    case 3: *value = 1024; break;
    case 4: *value = 64; break;
    case 5: *value = 2147483647; break;  // blocks along x
    case 6:
    case 7: *value = 65535; break;
    case 8: *value = 48 << 10; break;  // shared memory
    case 10: *value = 32; break;
    case 16: *value = setting("HALYARD_RECORDER_MULTIPROCESSORS", 132); break;
    case 75: *value = capability / 10; break;
    case 76: *value = capability % 10; break;
    case 97: *value = halyard::multiprocessor(capability).shared_of_block(); break;
    case 115: *value = 1; break;  // pools
    default: *value = 0;
    }
    return 0;
}

int cuDevicePrimaryCtxRetain(void **made, int) {
    *made = &context;
    return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) {
    return 0;
}
int cuCtxGetCurrent(void **c) {
    *c = current;
    return 0;
}
int cuCtxSetCurrent(void *c) {
    current = c;
    return 0;
}
int cuCtxPushCurrent_v2(void *c) {
    current = c;
    return 0;
}
int cuCtxPopCurrent_v2(void **c) {
    *c = current;
    return 0;
}
int cuCtxGetDevice(int *device) {
    *device = 0;
    return 0;
}
int cuCtxSynchronize() {
    return 0;
}
int cuStreamSynchronize(void *) {
    return 0;
}
int cuThreadExchangeStreamCaptureMode(int *) {
    return 0;
}

int cuModuleLoadData(void **module, const void *image) {
    modules.push_back({image, {}});
    *module = &modules.back();
    return 0;
}
int cuModuleUnload(void *) {
    return 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
    auto *m = static_cast<Module *>(module);
    Function *&f = m->functions[name];
    if (!f) {
        functions.push_back({m, name});
        f = &functions.back();
    }
    *function = f;
    return 0;
}
int cuFuncGetAttribute(int *value, int, void *) {
    *value = 0;
    return 0;
}
int cuFuncSetAttribute(void *, int, int) {
    return 0;
}
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                   unsigned shared_bytes, void *, void **, void **) {
    const auto *f = static_cast<const Function *>(function);
    launches.push_back({f->name.c_str(), f->module->image, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes});
    return 0;
}

int cuMemGetInfo_v2(size_t *free, size_t *total) {
    *free = *total = size_t(1) << 40;
    return 0;
}
int cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
    return allocate(pointer, bytes);
}
int cuMemFree_v2(uint64_t pointer) {
    return release(pointer);
}
int cuMemAllocFromPoolAsync(uint64_t *pointer, size_t bytes, void *, void *) {
    return allocate(pointer, bytes);
}
int cuMemFreeAsync(uint64_t pointer, void *) {
    return release(pointer);
}
int cuMemsetD32Async(uint64_t, unsigned, size_t, void *) {
    return 0;
}
int cuMemPoolCreate(void **made, const void *) {
    *made = &pool;
    return 0;
}
int cuMemPoolDestroy(void *) {
    return 0;
}
int cuMemPoolSetAttribute(void *, int, void *) {
    return 0;
}
int cuMemPoolTrimTo(void *, size_t) {
    return 0;
}
int cuPointerGetAttribute(void *value, int attribute, uint64_t) {
    *static_cast<int *>(value) = attribute == 2 ? 2 : 0;  // of a device, not managed
    return 0;
}
int cuTensorMapEncodeTiled(void *, int, unsigned, uint64_t, const uint64_t *, const uint64_t *, const uint32_t *, const uint32_t *, int,
                           int, int, int) {
    return 0;
}

int cuMemcpyHtoD_v2(uint64_t, const void *, size_t) {
    return 0;
}
int cuMemcpyDtoH_v2(void *, uint64_t, size_t) {
    return 0;
}
int cuMemcpyDtoD_v2(uint64_t, uint64_t, size_t) {
    return 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t, const void *, size_t, void *) {
    return 0;
}
int cuMemcpyDtoHAsync_v2(void *, uint64_t, size_t, void *) {
    return 0;
}
int cuMemcpyDtoDAsync_v2(uint64_t, uint64_t, size_t, void *) {
    return 0;
}
int cuMemcpy3D_v2(const void *) {
    return 0;
}
int cuMemcpy3DAsync_v2(const void *, void *) {
    return 0;
}
}  // extern "C"
