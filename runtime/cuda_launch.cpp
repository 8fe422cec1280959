// Starts the kernels of compiled pipelines. A pipeline carries one image for all of its kernels and all
// architectures; the first launch in a context loads it, and every later one finds the kernel in a table
// that is read without a lock.

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "cuda_tensor.h"

extern "C" {
int halyard_cuda_malloc_together(void *user_context, halide_buffer_t *const *buffers, int count);
int halide_cuda_device_free(void *user_context, halide_buffer_t *buffer);
}

namespace halyard_cuda {

namespace {

constexpr int kFirstWithEarlyNodes = 12030;  // of the drivers: graphs take launches that may begin early as they are

struct Image {
    const void *data;
    Context context;
    Module module;
    Image *next;
};

// A kernel in a context, as its code names it: by addresses.
struct Kernel {
    const void *image;
    const char *name;
    Context context;
    Function function;
    std::atomic<int> shared_limit;  // bytes of dynamic shared memory that a launch may ask for
    bool runs_beside;               // the device lets kernels begin before the last one has ended
    bool waits;                     // its code is of a kind that waits for that, as the code of halyard_cuda_launch_after() does
    Kernel *next;
};

// Open addressing, never full, never changed but for empty slots that get a kernel.
struct Table {
    size_t mask;
    Table *before;
    std::atomic<Kernel *> slots[1];
};

std::atomic<Table *> table{nullptr};
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
// What follows is used under the mutex.
Image *images = nullptr;
Kernel *kernels = nullptr;  // all that are in the table
Kernel *dropped = nullptr;  // all that were, kept as a reader may still look at them
size_t count = 0;

size_t hash(const void *image, const char *name, Context context) {
    const uint64_t x = (uintptr_t(image) + 3 * uintptr_t(name) + 5 * (uintptr_t(context) >> 4)) * 0x9E3779B97F4A7C15u;
    return x >> 32;
}

Kernel *find(const void *image, const char *name, Context context) {
    const Table *t = table.load(std::memory_order_acquire);
    if (!t) {
        return nullptr;
    }
    for (size_t i = hash(image, name, context);; i++) {
        Kernel *k = t->slots[i & t->mask].load(std::memory_order_acquire);
        if (!k || (k->image == image && k->name == name && k->context == context)) {
            return k;
        }
    }
}

void put(Table *t, Kernel *k) {
    size_t i = hash(k->image, k->name, k->context);
    while (t->slots[i & t->mask].load(std::memory_order_relaxed)) {
        i++;
    }
    t->slots[i & t->mask].store(k, std::memory_order_release);
}

// A new table with all kernels in it. Readers may still be in the old one, so that stays.
bool rebuild() {
    size_t size = 64;
    while (size < 4 * count) {
        size *= 2;
    }
    auto *t = static_cast<Table *>(calloc(1, sizeof(Table) + size * sizeof(Kernel *)));
    if (!t) {
        return false;
    }
    t->mask = size - 1;
    t->before = table.load(std::memory_order_relaxed);
    for (Kernel *k = kernels; k; k = k->next) {
        put(t, k);
    }
    table.store(t, std::memory_order_release);
    return true;
}

// What the caller of a failing launch wants to know about the device.
struct DeviceFacts {
    char name[128] = "the CUDA device";
    int major = 0, minor = 0, max_shared = 0, max_threads = 0, max_block[3] = {}, max_grid[3] = {};

    DeviceFacts() {
        const Driver &d = driver();
        Device device = 0;
        if (d.context_device(&device)) {
            return;
        }
        d.device_name(name, sizeof(name), device);
        d.device_attribute(&major, kCapabilityMajor, device);
        d.device_attribute(&minor, kCapabilityMinor, device);
        d.device_attribute(&max_shared, kMaxSharedPerBlock, device);
        d.device_attribute(&max_threads, kMaxThreadsPerBlock, device);
        const DeviceAttribute blocks[] = {kMaxBlockX, kMaxBlockY, kMaxBlockZ}, grids[] = {kMaxGridX, kMaxGridY, kMaxGridZ};
        for (int i = 0; i < 3; i++) {
            d.device_attribute(&max_block[i], blocks[i], device);
            d.device_attribute(&max_grid[i], grids[i], device);
        }
    }
};

int report_load(void *user_context, Result r, const char *name) {
    if (r == kNoBinaryForGpu || r == kUnsupportedPtx) {
        const DeviceFacts f;
        return report(user_context, halide_error_code_device_run_failed,
                      "%s: this library has no code for %s (compute capability %d.%d): name it in "
                      "`halyard build --target cuda --devices sm_%d%d`, beside others",
                      name, f.name, f.major, f.minor, f.major, f.minor);
    }
    if (r == kOutOfMemory) {
        return report(user_context, halide_error_code_out_of_memory, "%s: out of device memory while its code was loaded", name);
    }
    if (r == kInvalidImage) {
        return report(user_context, halide_error_code_device_run_failed, "%s: the library's device code is damaged", name);
    }
    return report(user_context, halide_error_code_device_run_failed, r, name);
}

Result load_image(const void *data, Context context, Module *module) {
    for (const Image *i = images; i; i = i->next) {
        if (i->data == data && i->context == context) {
            *module = i->module;
            return kSuccess;
        }
    }
    const Result r = driver().module_load(module, data);
    if (r) {
        return r;
    }
    auto *image = static_cast<Image *>(malloc(sizeof(Image)));
    if (!image) {
        driver().module_unload(*module);
        return kOutOfMemory;
    }
    *image = {data, context, *module, images};
    images = image;
    return kSuccess;
}

Result load_kernel(const void *image, const char *name, Context context, Kernel **found) {
    *found = find(image, name, context);
    if (*found) {  // another thread was faster
        return kSuccess;
    }
    const Driver &d = driver();
    Module module = nullptr;
    Function function = nullptr;
    Result r = load_image(image, context, &module);
    r = r ? r : d.module_function(&function, module, name);
    if (r) {
        return r;
    }
    constexpr int kAlwaysAllowed = 48 * 1024;
    int fixed = 0;
    d.function_get(&fixed, kFunctionSharedBytes, function);
    auto *k = static_cast<Kernel *>(calloc(1, sizeof(Kernel)));
    if (!k) {
        return kOutOfMemory;
    }
    k->image = image;
    k->name = name;
    k->context = context;
    k->function = function;
    Device device = 0;
    int major = 0;
    k->runs_beside = !d.context_device(&device) && !d.device_attribute(&major, kCapabilityMajor, device) && major >= 9;
    int code = 0, version = 0;
    k->waits = k->runs_beside && !d.function_get(&code, kFunctionPtxVersion, function) && code >= 90 && !d.version(&version) &&
               version >= kFirstWithEarlyNodes;
    k->shared_limit.store(kAlwaysAllowed - fixed, std::memory_order_relaxed);
    k->next = kernels;
    kernels = k;
    count++;
    Table *t = table.load(std::memory_order_relaxed);
    if (t && 2 * count <= t->mask) {
        put(t, k);
    } else if (!rebuild()) {
        kernels = k->next;
        count--;
        free(k);
        return kOutOfMemory;
    }
    *found = k;
    return kSuccess;
}

__attribute__((noinline)) int load(void *user_context, const void *image, const char *name, Context context, Kernel **found) {
    will_hold(user_context);
    const OutsideCapture capture;
    pthread_mutex_lock(&mutex);
    const Result r = load_kernel(image, name, context, found);
    pthread_mutex_unlock(&mutex);
    return r ? report_load(user_context, r, name) : 0;
}

__attribute__((noinline)) int raise_shared(void *user_context, Kernel *k, int bytes) {
    const OutsideCapture capture;
    pthread_mutex_lock(&mutex);
    Result r = kSuccess;
    if (bytes > k->shared_limit.load(std::memory_order_relaxed)) {
        r = driver().function_set(k->function, kFunctionMaxDynamicShared, bytes);
        if (!r) {
            k->shared_limit.store(bytes, std::memory_order_relaxed);
        }
    }
    pthread_mutex_unlock(&mutex);
    if (!r) {
        return 0;
    }
    const DeviceFacts f;
    return report(user_context, halide_error_code_device_run_failed,
                  "%s wants %d bytes of shared memory a block, and %s has %d: make its tiles smaller or its pipeline shallower", k->name,
                  bytes, f.name, f.max_shared);
}

struct Shape {
    int grid[3], block[3], shared_bytes;
};

int report_launch(void *user_context, Result r, const Kernel *k, const Shape &s) {
    const DeviceFacts f;
    const Driver &d = driver();
    const char *const words = d.emulator_last_error();
    if (words && *words) {
        return report(user_context, halide_error_code_device_run_failed, "%s", words);
    }
    const int threads = s.block[0] * s.block[1] * s.block[2];
    int max_threads = f.max_threads;
    d.function_get(&max_threads, kFunctionMaxThreads, k->function);
    if (threads > max_threads) {
        return report(user_context, halide_error_code_device_run_failed,
                      "%s: a block of %d x %d x %d threads is too large: this kernel may have %d on %s", k->name, s.block[0], s.block[1],
                      s.block[2], max_threads, f.name);
    }
    for (int i = 0; i < 3; i++) {
        if (f.max_block[i] && s.block[i] > f.max_block[i]) {
            return report(user_context, halide_error_code_device_run_failed, "%s: %d threads of a block along %c are too many: %s takes %d",
                          k->name, s.block[i], "xyz"[i], f.name, f.max_block[i]);
        }
        if (f.max_grid[i] && s.grid[i] > f.max_grid[i]) {
            return report(user_context, halide_error_code_device_run_failed, "%s: %d blocks along %c are too many: %s takes %d", k->name,
                          s.grid[i], "xyz"[i], f.name, f.max_grid[i]);
        }
    }
    if (r == kOutOfMemory) {
        return report(user_context, halide_error_code_out_of_memory, "%s: out of device memory at the launch", k->name);
    }
    char what[512];
    snprintf(what, sizeof(what), "%s or a kernel before it failed on %s", k->name, f.name);
    return report(user_context, halide_error_code_device_run_failed, r, what);
}

// An int on the device that begins at 0, for one launch, in the order of its stream.
class Counter {
    void *const user_context;
    halide_dimension_t dimension = {0, 1, 1, 0};
    halide_buffer_t buffer = {};

public:
    explicit Counter(void *user_context) : user_context(user_context) {
        buffer.type = halide_type_t(halide_type_int, 32, 1);
        buffer.dimensions = 1;
        buffer.dim = &dimension;
    }
    ~Counter() {
        if (buffer.device) {
            halide_cuda_device_free(user_context, &buffer);
        }
    }
    Counter(const Counter &) = delete;
    Counter &operator=(const Counter &) = delete;

    // 0, or a code that has been reported.
    int begin(Stream stream, const char *name) {
        halide_buffer_t *const buffers[] = {&buffer};
        if (const int error = halyard_cuda_malloc_together(user_context, buffers, 1)) {
            return error;
        }
        const Result r = driver().memory_set_async(buffer.device, 0, 1, stream);
        return r ? report(user_context, halide_error_code_device_run_failed, r, name) : 0;
    }

    uint64_t address() const {
        return buffer.device;
    }
};

// Where the kernel's parameters are: buffers become their addresses, the rest stays in the struct.
class Parameters {
    static constexpr int kMaxTensors = 8;
    uint64_t addresses[256];
    TensorMap maps[kMaxTensors];

public:
    static constexpr int kMax = 256;
    void *pointers[kMax];
    const halide_buffer_t *buffers[kMax];  // that parameters are of; null for others
    int count = 0;
    uint64_t *counter = nullptr;  // where the address of a counter belongs; null where none is needed

    // False where an argument cannot be passed: no room for it, or a buffer without device memory.
    bool fill(const char *kinds, const void *arguments, int *bad, Result *result) {
        int tensors = 0;
        auto *at = static_cast<const uint8_t *>(arguments);
        size_t offset = 0;
        for (int i = 0; kinds[i]; i++) {
            *bad = i;
            if (i == kMax) {
                return false;
            }
            const char kind = kinds[i];
            const size_t size = kind == 'c' ? 1 : kind == 's' ? 2 : kind == 'i' ? 4 : 8;
            offset = (offset + size - 1) & ~(size - 1);
            pointers[i] = const_cast<uint8_t *>(at + offset);
            buffers[i] = nullptr;
            count = i + 1;
            if (kind == 'b') {
                const halide_buffer_t *buffer = nullptr;
                memcpy(&buffer, at + offset, sizeof(buffer));
                buffers[i] = buffer;
                addresses[i] = buffer ? buffer->device : 0;
                pointers[i] = &addresses[i];
                if (!addresses[i]) {
                    return false;
                }
            }
            if (kind == 'n') {
                memcpy(&addresses[i], at + offset, sizeof(addresses[i]));
                pointers[i] = &addresses[i];
                counter = addresses[i] ? &addresses[i] : nullptr;
            }
            if (kind == 't') {
                const Tensor *tensor = nullptr;
                memcpy(&tensor, at + offset, sizeof(tensor));
                if (tensors == kMaxTensors || !tensor->buffer->device) {
                    return false;
                }
                *result = encode(&maps[tensors], *tensor);
                if (*result) {
                    return false;
                }
                buffers[i] = tensor->buffer;
                pointers[i] = &maps[tensors++];
            }
            offset += size;
        }
        return true;
    }
};

void drop(Kernel **list, Context context) {
    for (Kernel **k = list; *k;) {
        Kernel *const kernel = *k;
        if (context && kernel->context != context) {
            k = &kernel->next;
            continue;
        }
        *k = kernel->next;
        kernel->next = dropped;
        dropped = kernel;
        count--;
    }
}

}  // namespace

void release_modules(Context context) {
    const Driver &d = driver();
    pthread_mutex_lock(&mutex);
    for (Image **i = &images; *i;) {
        Image *const image = *i;
        if (context && image->context != context) {
            i = &image->next;
            continue;
        }
        Context popped = nullptr;
        if (!d.context_push(image->context)) {
            d.module_unload(image->module);
            d.context_pop(&popped);
        }
        *i = image->next;
        free(image);
    }
    drop(&kernels, context);
    if (context) {
        rebuild();
    } else {
        for (Table *t = table.exchange(nullptr); t;) {
            Table *const before = t->before;
            free(t);
            t = before;
        }
        for (Kernel *k = dropped; k;) {
            Kernel *const next = k->next;
            free(k);
            k = next;
        }
        dropped = nullptr;
    }
    pthread_mutex_unlock(&mutex);
}

}  // namespace halyard_cuda

using namespace halyard_cuda;

namespace {

// What this thread launched last, if that was just now: a kernel of the image on the stream.
struct Last {
    const void *image = nullptr;
    Stream stream = nullptr;
};
thread_local Last last;

// No blocks, or blocks of no threads, have nothing to do.
bool is_empty(const int size[3]) {
    return size[0] <= 0 || size[1] <= 0 || size[2] <= 0;
}

// The pipeline computes a number that does not fit as INT32_MIN.
bool has_overflown(const Shape &s) {
    bool any = s.shared_bytes == INT32_MIN;
    for (int i = 0; i < 3; i++) {
        any = any || s.grid[i] == INT32_MIN || s.block[i] == INT32_MIN;
    }
    return any;
}

// When a kernel may begin: when all before it in the stream has ended; before that, as it waits for it first; or beside the last one.
enum class Begins { kThen, kEarly, kBeside };

int launch(void *user_context, const halide_buffer_t *image, const char *name, const Shape &shape, const char *kinds, const void *arguments,
           Begins begins) {
    const Last before = last;
    last = Last();
    const int *const grid = shape.grid, *const block = shape.block;
    if (__builtin_expect(has_overflown(shape), 0)) {
        return report(user_context, halide_error_code_device_run_failed,
                      "%s: for arrays of these sizes its schedule wants 2^31 blocks, threads or bytes of shared memory or more: make fewer "
                      "and smaller blocks",
                      name);
    }
    if (is_empty(grid) || is_empty(block)) {
        return 0;
    }
    const Scope scope(user_context);
    if (scope.error) {
        return scope.error;
    }
    Kernel *k = find(image->host, name, scope.context);
    if (__builtin_expect(!k, 0)) {
        if (const int error = load(user_context, image->host, name, scope.context, &k)) {
            return error;
        }
    }
    const int shared_bytes = shape.shared_bytes;
    if (__builtin_expect(shared_bytes > k->shared_limit.load(std::memory_order_relaxed), 0)) {
        if (const int error = raise_shared(user_context, k, shared_bytes)) {
            return error;
        }
    }
    Parameters parameters;
    int bad = 0;
    Result encoded = kSuccess;
    if (__builtin_expect(!parameters.fill(kinds, arguments, &bad, &encoded), 0)) {
        if (encoded) {
            return report(user_context, halide_error_code_device_run_failed, encoded, name);
        }
        return report(user_context, halide_error_code_device_run_failed,
                      bad == Parameters::kMax ? "%s: more than %d arguments" : "%s: argument %d is a buffer without device memory", name,
                      bad);
    }
    Counter counter(user_context);
    if (parameters.counter) {
        if (const int error = counter.begin(scope.stream, name)) {
            return error;
        }
        *parameters.counter = counter.address();
    }
    if (__builtin_expect(driver().emulator_arguments != nullptr, 0)) {
        driver().emulator_arguments(parameters.count, parameters.buffers);
    }
    Result r = kNotSupported;
    const bool beside = begins == Begins::kBeside && k->runs_beside && before.image == image->host && before.stream == scope.stream;
    if (!parameters.counter && (beside || (begins == Begins::kEarly && k->waits))) {
        const LaunchAttribute attribute;
        const LaunchConfig config = {{unsigned(grid[0]), unsigned(grid[1]), unsigned(grid[2])},
                                     {unsigned(block[0]), unsigned(block[1]), unsigned(block[2])},
                                     unsigned(shared_bytes),
                                     scope.stream,
                                     &attribute,
                                     1};
        r = driver().launch_with(&config, k->function, parameters.pointers, nullptr);
    }
    if (r == kNotSupported) {
        r = driver().launch(k->function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared_bytes, scope.stream,
                            parameters.pointers, nullptr);
    }
    if (__builtin_expect(r != kSuccess, 0)) {
        return report_launch(user_context, r, k, shape);
    }
    last = {image->host, scope.stream};
    return 0;
}

}  // namespace

/** The call that stands in a compiled pipeline where its kernel was. `image->host` is what
 * cuModuleLoadData() takes. `arguments` points to a struct of the kernel's parameters in order, each
 * aligned to its size, and `kinds` has a letter for each: b a halide_buffer_t * whose device address the
 * kernel gets, c 1 byte, s 2, i 4, l 8, t a pointer to a Tensor (cuda_tensor.h), n 8 bytes, 0 or else the kernel gets the
 * address of an int on the device that begins at 0. Strings and image are constants of the pipeline: their addresses
 * name the kernel. */
extern "C" int halyard_cuda_launch(void *user_context, const halide_buffer_t *image, const char *name, int grid_x, int grid_y, int grid_z,
                                   int block_x, int block_y, int block_z, int shared_bytes, const char *kinds, const void *arguments) {
    return launch(user_context, image, name, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes}, kinds, arguments,
                  Begins::kThen);
}

/** The same, of a kernel that first waits until all that comes before it in the stream has ended, if its code is of sm_90 or later
 * (griddepcontrol.wait). It may be brought onto the device before that. */
extern "C" int halyard_cuda_launch_after(void *user_context, const halide_buffer_t *image, const char *name, int grid_x, int grid_y,
                                         int grid_z, int block_x, int block_y, int block_z, int shared_bytes, const char *kinds,
                                         const void *arguments) {
    return launch(user_context, image, name, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes}, kinds, arguments,
                  Begins::kEarly);
}

/** The same, of a kernel that needs nothing of the last one of the call, nor of those beside which that was launched, and that
 * waits for it before it ends: it may begin when all blocks of the last one have said so. Where there was none just before it,
 * or the device or the driver cannot do that, it is launched like any other. */
extern "C" int halyard_cuda_launch_beside(void *user_context, const halide_buffer_t *image, const char *name, int grid_x, int grid_y,
                                          int grid_z, int block_x, int block_y, int block_z, int shared_bytes, const char *kinds,
                                          const void *arguments) {
    return launch(user_context, image, name, {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes}, kinds, arguments,
                  Begins::kBeside);
}
