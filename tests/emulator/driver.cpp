// NVIDIA's driver API over host memory, as much of it as Halide's CUDA runtime and ours call. Everything
// happens at once: streams are only names, which can be captured. A module is a shared object of
// kernels that were compiled over schedules/lowering/cuda/emulator.h.

#include "driver.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../../schedules/lowering/cuda/emulator/launch.h"
#include "../../schedules/lowering/cuda/emulator/tensor_map.h"
#include "memory.h"

namespace {

using halyard::emulator::Launch;
using halyard::emulator::Region;

enum Result {
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kNotInitialized = 3,
    kNoDevice = 100,
    kInvalidDevice = 101,
    kInvalidImage = 200,
    kInvalidContext = 201,
    kNoBinaryForGpu = 209,
    kUnsupportedPtx = 222,
    kInvalidHandle = 400,
    kNotFound = 500,
    kIllegalAddress = 700,
    kOutOfResources = 701,
    kLaunchFailed = 719,
    kNotSupported = 801,
    kCaptureUnsupported = 900,
    kCaptureInvalidated = 901,
    kCaptureImplicit = 906,
};

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
    {kCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {kCaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
};

constexpr int kMaxDevices = 8;

struct Context {
    int device;
    bool primary;
    int holders = 0;
    int sticky = kSuccess;  // an error in a kernel stays
};

struct Module {
    Context *context;
    void *library;
    int file;
};

struct Function {
    Module *module;
    std::string name;
    int (*entry)(const Launch *);
    int max_dynamic_shared = 48 * 1024;
};

struct Stream {
    Context *context;
    bool capturing = false, invalid = false;
    int mode = 0, nodes = 0;
};

struct Pool {
    int device;
    uint64_t threshold = 0;
    bool destroyed = false;
};

// All of the driver, under one lock. A kernel runs under it too: on its device it is alone.
struct World {
    std::recursive_mutex mutex;
    bool initialised = false;
    DeviceMemory memory[kMaxDevices];
    Context primary[kMaxDevices];
    std::set<Context *> contexts;
    std::set<Module *> modules;
    std::map<Function *, std::unique_ptr<Function>> functions;
    std::set<Stream *> streams;
    std::set<Pool *> pools;
    std::map<std::string, int> settings, counts;
    char *stacks = nullptr;

    World() {
        for (const auto &[name, value] : std::initializer_list<std::pair<const char *, int>>{
                 {"devices", 2}, {"capability", 90}, {"multiprocessors", 132}, {"memory", 4096}, {"pools", 1},
                 {"fail_allocation", 0}, {"fail_launch", 0}, {"fail_load", 0}}) {
            std::string variable = std::string("HALYARD_EMULATOR_") + name;
            std::transform(variable.begin(), variable.end(), variable.begin(), ::toupper);
            const char *given = getenv(variable.c_str());
            settings[name] = given ? atoi(given) : value;
        }
        for (int i = 0; i < kMaxDevices; i++) {
            primary[i].device = i;
            primary[i].primary = true;
        }
    }
};

// Never destroyed: programs call the driver in their last destructors.
World &world() {
    static World *const w = new World;
    return *w;
}

// Never destroyed either, for the same reason.
thread_local std::vector<Context *> &stack = *new std::vector<Context *>;
thread_local int capture_mode = 0;  // of the thread: 0 global, 1 its own captures, 2 relaxed
thread_local char last_error[1024];

// Of shared memory a block may have, in bytes.
int max_shared() {
    const int capability = world().settings["capability"];
    return (capability == 80 ? 163 : capability < 90 || capability >= 120 ? 99 : 227) * 1024;
}

int devices() {
    return std::min(world().settings["devices"], kMaxDevices);
}

// Counts down to the failure that a test has asked for.
bool fails_now(const char *what) {
    int &n = world().settings[what];
    return n > 0 && --n == 0;
}

Context *current() {
    return stack.empty() ? nullptr : stack.back();
}

// What a device forbids while somebody captures, lest it ends up in the graph or waits for it.
int unsafe_now() {
    for (Stream *s : world().streams) {
        if (s->capturing && s->mode == 0 && capture_mode == 0) {
            s->invalid = true;
            return kCaptureUnsupported;
        }
    }
    return kSuccess;
}

Stream *as_stream(void *s) {
    return reinterpret_cast<uintptr_t>(s) <= 2 ? nullptr : static_cast<Stream *>(s);
}

// Whether work on the stream is captured. The default stream waits for all others, which one that
// is being captured cannot.
int enter_stream(void *handle, bool *captured) {
    World &w = world();
    *captured = false;
    Stream *s = as_stream(handle);
    if (!s) {
        for (Stream *other : w.streams) {
            if (other->capturing) {
                other->invalid = true;
                return kCaptureImplicit;
            }
        }
        return current() ? current()->sticky : kInvalidContext;
    }
    if (!w.streams.count(s)) {
        return kInvalidHandle;
    }
    if (s->invalid) {
        return kCaptureInvalidated;
    }
    *captured = s->capturing;
    s->nodes += s->capturing;
    w.counts["captured"] += s->capturing;
    return s->context->sticky;
}

bool find_region(uint64_t address, Region *region) {
    for (const DeviceMemory &m : world().memory) {
        if (!m.holds(address)) {
            continue;
        }
        if (const auto *a = m.find(address)) {
            *region = {a->first, a->first + a->second.bytes, m.host(a->first)};
            return true;
        }
    }
    return false;
}

// `bytes` of device memory for the host, null where they are not in one allocation.
char *bytes_at(uint64_t address, uint64_t bytes) {
    Region r;
    return find_region(address, &r) && address + bytes <= r.end ? r.bytes + (address - r.begin) : nullptr;
}

int allocate(uint64_t *pointer, size_t bytes, int device, void *owner, bool captured) {
    World &w = world();
    if (fails_now("fail_allocation")) {
        return kOutOfMemory;
    }
    *pointer = w.memory[device].allocate(bytes, uint64_t(w.settings["memory"]) << 20, owner, captured);
    w.counts["allocated"] += *pointer != 0;
    return *pointer ? kSuccess : bytes ? kOutOfMemory : kInvalidValue;
}

int free_memory(uint64_t pointer) {
    for (DeviceMemory &m : world().memory) {
        if (m.holds(pointer)) {
            return m.release(pointer) ? kSuccess : kInvalidValue;
        }
    }
    return kInvalidValue;
}

// A shared object ends with its table of sections, or with a section.
size_t elf_size(const void *image) {
    const auto *header = static_cast<const Elf64_Ehdr *>(image);
    size_t end = header->e_shoff + size_t(header->e_shnum) * header->e_shentsize;
    const auto *sections = reinterpret_cast<const Elf64_Shdr *>(static_cast<const char *>(image) + header->e_shoff);
    for (int i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_NOBITS) {
            end = std::max(end, size_t(sections[i].sh_offset + sections[i].sh_size));
        }
    }
    return end;
}

// The file stays open while the module is there: its number is its name, by which dlopen() tells
// libraries apart.
int load_module(const void *image, Module **module) {
    const int file = memfd_create("halyard-kernels", MFD_CLOEXEC);
    const size_t size = elf_size(image);
    if (file < 0 || write(file, image, size) != ssize_t(size)) {
        return kOutOfMemory;
    }
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "emulated driver: %s\n", dlerror());
        close(file);
        return kInvalidImage;
    }
    *module = new Module{current(), library, file};
    world().modules.insert(*module);
    return kSuccess;
}

void unload_module(Module *m) {
    World &w = world();
    for (auto f = w.functions.begin(); f != w.functions.end();) {
        f = f->second->module == m ? w.functions.erase(f) : std::next(f);
    }
    dlclose(m->library);
    close(m->file);
    w.modules.erase(m);
    delete m;
}

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

int order_of_threads() {
    const char *order = getenv("HALYARD_EMULATOR_ORDER");
    if (!order || std::string(order) == "forward") {
        return 0;
    }
    return std::string(order) == "reverse" ? -1 : std::max(1, atoi(order));
}

int run_kernel(Function *f, const unsigned *grid, const unsigned *block, unsigned shared_bytes, void **parameters) {
    constexpr size_t kStackBytes = 256 * 1024, kMaxThreads = 1024;
    World &w = world();
    if (!w.stacks) {
        w.stacks = static_cast<char *>(mmap(nullptr, kStackBytes * kMaxThreads, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    }
    Launch launch = {};
    for (int i = 0; i < 3; i++) {
        launch.grid[i] = int(grid[i]);
        launch.block[i] = int(block[i]);
    }
    launch.shared_bytes = int(shared_bytes);
    launch.parameters = parameters;
    launch.find = [](uint64_t address, Region *region) { return int(find_region(address, region)); };
    launch.stacks = w.stacks;
    launch.stack_bytes = kStackBytes;
    launch.order = order_of_threads();
    launch.error = last_error;
    launch.error_bytes = sizeof(last_error);
    return f->entry(&launch) ? kLaunchFailed : kSuccess;
}

}  // namespace

// Every function holds the lock; all but a few want cuInit() before them.
#define LOCK                                               \
    World &w = world();                                    \
    const std::lock_guard<std::recursive_mutex> lock(w.mutex)
#define ENTER                   \
    LOCK;                       \
    if (!w.initialised) {       \
        return kNotInitialized; \
    }
#define ENTER_CONTEXT           \
    ENTER                       \
    if (!current()) {           \
        return kInvalidContext; \
    }

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
        return int(w.contexts.size()) + int(std::count_if(std::begin(w.primary), std::end(w.primary),
                                                          [](const Context &c) { return c.holders > 0; }));
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
        {1, 1024},           {2, 1024},      {3, 1024},  {4, 64},          {5, 2147483647},
        {6, 65535},          {7, 65535},     {8, 49152}, {9, 65536},       {10, 32},
        {12, 65536},         {13, 1980000},  {16, w.settings["multiprocessors"]},  {36, 3201000},    {37, 6144},
        {38, 60 << 20},      {39, 2048},     {41, 1},    {81, 228 * 1024}, {82, 65536},
        {97, max_shared()},    {106, 32},      {111, 1024}, {115, w.settings["pools"]},
        {75, w.settings["capability"] / 10}, {76, w.settings["capability"] % 10},
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

// ---- Modules and kernels ----

int cuModuleLoadData(Module **module, const void *image) {
    ENTER_CONTEXT;
    if (const int unsafe = unsafe_now()) {
        return unsafe;
    }
    if (const int code = std::exchange(w.settings["fail_load"], 0)) {
        return code;
    }
    const auto *magic = static_cast<const unsigned char *>(image);
    const bool elf = memcmp(magic, ELFMAG, SELFMAG) == 0;
    const bool for_device = elf && reinterpret_cast<const Elf64_Ehdr *>(image)->e_machine != EM_X86_64;
    const unsigned char fatbin[] = {0x50, 0xed, 0x55, 0xba};
    if (for_device || memcmp(magic, fatbin, sizeof(fatbin)) == 0) {
        return kNoBinaryForGpu;
    }
    return elf ? load_module(image, module) : kInvalidImage;
}

int cuModuleLoadDataEx(Module **module, const void *image, unsigned, int *, void **) {
    return cuModuleLoadData(module, image);
}

int cuModuleUnload(Module *module) {
    ENTER_CONTEXT;
    if (!w.modules.count(module)) {
        return kInvalidHandle;
    }
    if (const int unsafe = unsafe_now()) {
        return unsafe;
    }
    unload_module(module);
    return kSuccess;
}

int cuModuleGetFunction(Function **function, Module *module, const char *name) {
    ENTER_CONTEXT;
    if (!w.modules.count(module)) {
        return kInvalidHandle;
    }
    void *entry = dlsym(module->library, (std::string("halyard_entry_") + name).c_str());
    if (!entry) {
        return kNotFound;
    }
    auto f = std::make_unique<Function>(Function{module, name, reinterpret_cast<int (*)(const Launch *)>(entry)});
    *function = f.get();
    w.functions.emplace(f.get(), std::move(f));
    return kSuccess;
}

int cuFuncGetAttribute(int *value, int attribute, Function *function) {
    ENTER;
    *value = attribute == 0 ? 1024 : attribute == 8 ? function->max_dynamic_shared : 0;
    return kSuccess;
}

int cuFuncSetAttribute(Function *function, int attribute, int value) {
    ENTER;
    if (attribute != 8 || value > max_shared()) {
        return kInvalidValue;
    }
    function->max_dynamic_shared = value;
    return kSuccess;
}

int cuLaunchKernel(Function *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                   unsigned block_z, unsigned shared_bytes, void *stream, void **parameters, void **) {
    ENTER_CONTEXT;
    last_error[0] = '\0';
    if (!w.functions.count(function) || function->module->context != current()) {
        return kInvalidHandle;
    }
    const unsigned grid[] = {grid_x, grid_y, grid_z}, block[] = {block_x, block_y, block_z};
    const uint64_t threads = uint64_t(block_x) * block_y * block_z;
    if (!grid_x || !grid_y || !grid_z || grid_y > 65535 || grid_z > 65535 || grid_x > 0x7fffffff || threads == 0 || threads > 1024 ||
        block_z > 64 || int(shared_bytes) > function->max_dynamic_shared) {
        return kInvalidValue;
    }
    bool captured = false;
    if (const int error = enter_stream(stream, &captured)) {
        return error;
    }
    w.counts["launches"]++;
    if (captured) {
        return kSuccess;
    }
    if (fails_now("fail_launch")) {
        return current()->sticky = kIllegalAddress;
    }
    const int result = run_kernel(function, grid, block, shared_bytes, parameters);
    if (result) {
        current()->sticky = result;
    }
    return result;
}

// ---- Memory ----

int cuMemGetInfo_v2(size_t *free, size_t *total) {
    ENTER_CONTEXT;
    *total = size_t(w.settings["memory"]) << 20;
    *free = *total - w.memory[current()->device].used();
    return kSuccess;
}

int cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
    ENTER_CONTEXT;
    const int unsafe = unsafe_now();
    return unsafe ? unsafe : allocate(pointer, bytes, current()->device, current(), false);
}

int cuMemFree_v2(uint64_t pointer) {
    ENTER_CONTEXT;
    w.counts["synchronisations"]++;
    const int unsafe = unsafe_now();
    return unsafe ? unsafe : free_memory(pointer);
}

int cuMemAllocFromPoolAsync(uint64_t *pointer, size_t bytes, Pool *pool, void *stream) {
    ENTER_CONTEXT;
    bool captured = false;
    if (const int error = enter_stream(stream, &captured)) {
        return error;
    }
    return w.pools.count(pool) ? allocate(pointer, bytes, pool->device, current(), captured) : kInvalidValue;
}

int cuMemFreeAsync(uint64_t pointer, void *stream) {
    ENTER_CONTEXT;
    bool captured = false;
    if (const int error = enter_stream(stream, &captured)) {
        return error;
    }
    Region r;
    if (!find_region(pointer, &r) || r.begin != pointer) {
        return kInvalidValue;
    }
    for (const DeviceMemory &m : w.memory) {
        if (m.holds(pointer) && captured && !m.find(pointer)->second.in_graph) {
            return kInvalidValue;
        }
    }
    return free_memory(pointer);
}

int cuMemPoolCreate(Pool **pool, const void *properties) {
    ENTER;
    if (!w.settings["pools"]) {
        return kNotSupported;
    }
    if (const int unsafe = unsafe_now()) {
        return unsafe;
    }
    *pool = new Pool{static_cast<const int *>(properties)[3]};
    w.pools.insert(*pool);
    return kSuccess;
}

int cuMemPoolDestroy(Pool *pool) {
    ENTER;
    if (!w.pools.erase(pool)) {
        return kInvalidValue;
    }
    delete pool;
    return kSuccess;
}

int cuMemPoolSetAttribute(Pool *pool, int attribute, void *value) {
    ENTER;
    if (attribute == 4) {
        pool->threshold = *static_cast<uint64_t *>(value);
    }
    return kSuccess;
}

int cuMemPoolTrimTo(Pool *pool, size_t) {
    ENTER;
    w.counts["trims"]++;
    return w.pools.count(pool) ? kSuccess : kInvalidValue;
}

int cuPointerGetAttribute(void *value, int attribute, uint64_t pointer) {
    ENTER_CONTEXT;
    Region r;
    if (!find_region(pointer, &r)) {
        return kInvalidValue;
    }
    if (attribute == 2) {
        *static_cast<unsigned *>(value) = 2;  // device memory
    } else if (attribute == 8) {
        *static_cast<unsigned *>(value) = 0;  // not managed
    } else {
        return kNotSupported;
    }
    return kSuccess;
}

/** Refuses what the real one refuses (CUDA driver API, "Tensor Map Object Management"). */
int cuTensorMapEncodeTiled(halyard::tensor_map *map, int type, unsigned rank, uint64_t address, const uint64_t *extents,
                           const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave, int swizzle, int, int fill) {
    constexpr int kFloat16 = 6, kFloat32 = 7, kBFloat16 = 9, kMaxBox = 256;
    const int bytes = type == 0 ? 1 : type == 1 || type == kFloat16 || type == kBFloat16 ? 2 : type == 2 || type == 3 || type == kFloat32 ? 4 : 0;
    const int swizzles[] = {0, 32, 64, 128};
    if (world().settings["capability"] < 90 || bytes == 0 || interleave != 0 || swizzle < 0 || swizzle > 3 || fill != 0) {
        return kNotSupported;  // by the device, or by this driver
    }
    if (reinterpret_cast<uintptr_t>(map) % 64 != 0 || rank < 1 || rank > halyard::tensor_map::kMaxRank || address == 0 || address % 16 != 0) {
        return kInvalidValue;
    }
    halyard::tensor_map m = {};
    m.magic = halyard::tensor_map::kMagic;
    m.rank = uint8_t(rank);
    m.element_bytes = uint8_t(bytes);
    m.swizzle_bytes = uint8_t(swizzles[swizzle]);
    m.address = address;
    for (unsigned d = 0; d < rank; d++) {
        if (extents[d] == 0 || extents[d] > uint64_t(1) << 32 || box[d] == 0 || box[d] > kMaxBox || steps[d] == 0 || steps[d] > 8) {
            return kInvalidValue;
        }
        if (d == 0 && steps[d] != 1) {
            return kNotSupported;
        }
        m.extent[d] = uint32_t(extents[d]);
        m.box[d] = (box[d] + steps[d] - 1) / steps[d];
        m.step[d] = uint8_t(steps[d]);
    }
    for (unsigned d = 0; d + 1 < rank; d++) {
        if (strides[d] % 16 != 0 || strides[d] >= uint64_t(1) << 40) {
            return kInvalidValue;
        }
        m.stride[d] = strides[d];
    }
    const int across = int(box[0]) * bytes;
    if (across % 16 != 0 || (swizzle != 0 && across > swizzles[swizzle])) {
        return kInvalidValue;
    }
    *map = m;
    return kSuccess;
}

static int copy(void *to, const void *from, size_t bytes) {
    if (!to || !from) {
        return bytes ? kInvalidValue : kSuccess;
    }
    memmove(to, from, bytes);
    return kSuccess;
}

// A copy that waits; on the default stream.
static int copy_now(void *to, const void *from, size_t bytes) {
    bool captured = false;
    world().counts["synchronisations"]++;
    if (const int unsafe = unsafe_now()) {
        return unsafe;
    }
    const int error = enter_stream(nullptr, &captured);
    return error ? error : copy(to, from, bytes);
}

static int copy_on(void *stream, void *to, const void *from, size_t bytes) {
    bool captured = false;
    const int error = enter_stream(stream, &captured);
    return error || captured ? error : copy(to, from, bytes);
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
    ENTER_CONTEXT;
    return copy_now(bytes_at(to, bytes), from, bytes);
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
    ENTER_CONTEXT;
    return copy_now(to, bytes_at(from, bytes), bytes);
}
int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) {
    ENTER_CONTEXT;
    return copy_now(bytes_at(to, bytes), bytes_at(from, bytes), bytes);
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
    ENTER_CONTEXT;
    return copy_on(stream, bytes_at(to, bytes), from, bytes);
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
    ENTER_CONTEXT;
    return copy_on(stream, to, bytes_at(from, bytes), bytes);
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream) {
    ENTER_CONTEXT;
    return copy_on(stream, bytes_at(to, bytes), bytes_at(from, bytes), bytes);
}

int cuMemsetD32Async(uint64_t to, unsigned value, size_t count, void *stream) {
    ENTER_CONTEXT;
    bool captured = false;
    const int error = enter_stream(stream, &captured);
    char *const bytes = static_cast<char *>(bytes_at(to, 4 * count));
    if (error || captured || !bytes) {
        return error ? error : bytes ? kSuccess : kInvalidValue;
    }
    for (size_t i = 0; i < count; i++) {
        memcpy(bytes + 4 * i, &value, 4);
    }
    return kSuccess;
}

int cuMemcpy3D_v2(const void *) {
    return kNotSupported;
}

// ---- Streams ----

int cuStreamCreate(Stream **stream, unsigned) {
    ENTER_CONTEXT;
    *stream = new Stream{current()};
    w.streams.insert(*stream);
    return kSuccess;
}

int cuStreamDestroy_v2(Stream *stream) {
    ENTER;
    if (!w.streams.erase(stream)) {
        return kInvalidHandle;
    }
    delete stream;
    return kSuccess;
}

int cuStreamSynchronize(void *handle) {
    ENTER_CONTEXT;
    w.counts["synchronisations"]++;
    Stream *s = as_stream(handle);
    if (!s) {
        const int unsafe = unsafe_now();
        return unsafe ? unsafe : current()->sticky;
    }
    if (!w.streams.count(s)) {
        return kInvalidHandle;
    }
    if (s->capturing) {
        s->invalid = true;
        return kCaptureUnsupported;
    }
    return s->context->sticky;
}

// ---- Events: everything happens at once, so an event is the time at which it was recorded ----

struct Event {
    std::chrono::steady_clock::time_point at;
};

int cuEventCreate(Event **event, unsigned) {
    ENTER_CONTEXT;
    *event = new Event;
    return kSuccess;
}

int cuEventDestroy_v2(Event *event) {
    delete event;
    return kSuccess;
}

int cuEventRecord(Event *event, void *) {
    event->at = std::chrono::steady_clock::now();
    return kSuccess;
}

int cuEventSynchronize(Event *) {
    ENTER_CONTEXT;
    return current()->sticky;
}

int cuEventElapsedTime(float *milliseconds, Event *begin, Event *end) {
    *milliseconds = std::chrono::duration<float, std::milli>(end->at - begin->at).count();
    return kSuccess;
}

int cuStreamBeginCapture_v2(Stream *stream, int mode) {
    ENTER;
    if (!w.streams.count(stream) || stream->capturing) {
        return kInvalidValue;
    }
    stream->capturing = true;
    stream->invalid = false;
    stream->mode = mode;
    stream->nodes = 0;
    return kSuccess;
}

/** The graph is null; what was captured is counted. */
int cuStreamEndCapture(Stream *stream, void **graph) {
    ENTER;
    *graph = nullptr;
    if (!w.streams.count(stream) || !stream->capturing) {
        return kInvalidValue;
    }
    stream->capturing = false;
    return stream->invalid ? kCaptureInvalidated : kSuccess;
}

int cuThreadExchangeStreamCaptureMode(int *mode) {
    std::swap(*mode, capture_mode);
    return kSuccess;
}

}  // extern "C"
