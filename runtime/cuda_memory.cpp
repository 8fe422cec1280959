// Device memory comes from a pool, in the order of the caller's stream: an allocation or a release of
// a pipeline's intermediate waits for nothing and can be captured into a graph. Halide's cuMemFree()
// waits for the whole device; its free list, which avoids that, cannot be captured.

#include <pthread.h>
#include <stdlib.h>

#include <atomic>

#include "HalideRuntimeCuda.h"
#include "cuda_api.h"
#include "halyard/cuda.h"

extern "C" int halide_cuda_buffer_copy(void *user_context, halide_buffer_t *from, const halide_device_interface_t *to_interface,
                                       halide_buffer_t *to);

namespace halyard_cuda {

namespace {

constexpr int kMaxDevices = 64;
const Pool kNoPools = reinterpret_cast<Pool>(-1);

// A pool of ours for each device: the default one gives its memory back at every synchronisation, and
// is not ours to change.
std::atomic<Pool> pools[kMaxDevices];
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

Pool make_pool(Device device) {
    const Driver &d = driver();
    const OutsideCapture capture;
    int supported = 0;
    if (d.device_attribute(&supported, kPoolsSupported, device) || !supported) {
        return kNoPools;
    }
    PoolProperties properties;
    properties.location_id = device;
    Pool pool = nullptr;
    if (d.pool_create(&pool, &properties)) {
        return kNoPools;
    }
    uint64_t keep_all = ~uint64_t(0);
    d.pool_set(pool, kPoolReleaseThreshold, &keep_all);
    return pool;
}

// The pool of the current context's device, null where there are none.
Pool current_pool(void *user_context) {
    Device device = 0;
    if (driver().context_device(&device) || device < 0 || device >= kMaxDevices) {
        return nullptr;
    }
    Pool pool = pools[device].load(std::memory_order_acquire);
    if (!pool) {
        will_hold(user_context);
        pthread_mutex_lock(&mutex);
        pool = pools[device].load(std::memory_order_relaxed);
        if (!pool) {
            pool = make_pool(device);
            pools[device].store(pool, std::memory_order_release);
        }
        pthread_mutex_unlock(&mutex);
    }
    return pool == kNoPools ? nullptr : pool;
}

bool is_empty(const halide_buffer_t *buffer) {
    for (int i = 0; i < buffer->dimensions; i++) {
        if (buffer->dim[i].extent <= 0) {
            return true;
        }
    }
    return false;
}

// At least one, so that a buffer without elements has an address too. Of such a one size_in_bytes() may be below 0.
size_t bytes_of(const halide_buffer_t *buffer) {
    return is_empty(buffer) ? 1 : buffer->size_in_bytes();
}

// The address of a buffer without elements whose owner has none for it: no kernel reads there, but zero would say that memory
// is still to be allocated. Aligned as allocations are.
constexpr uintptr_t kNoElements = 256;

Result allocate(DevicePointer *pointer, size_t bytes, Pool pool, Stream stream) {
    return pool ? driver().pool_alloc(pointer, bytes, pool, stream) : driver().memory_alloc(pointer, bytes);
}

int report_allocation(void *user_context, Result r, size_t bytes) {
    if (r == kOutOfMemory) {
        size_t free = 0, total = 0;
        driver().memory_info(&free, &total);
        return report(user_context, halide_error_code_out_of_memory,
                      "out of device memory: a buffer of %zu bytes does not fit, %zu of %zu bytes are free", bytes, free, total);
    }
    return report(user_context, halide_error_code_device_malloc_failed, r, "device memory cannot be allocated");
}

// Memory that several buffers of a call share, until the last of them gives it back. Each has its address in `padding`, and says
// so in its flags.
struct Shared {
    DevicePointer pointer;
    int buffers;
};
constexpr uint64_t kIsShared = uint64_t(1) << 32;

// Memory of the caller that temporary buffers of this thread's calls take, from the beginning on, until the last of them has been
// given back. A buffer that has some of it says so in its flags.
struct Scratch {
    DevicePointer begin = 0;
    size_t bytes = 0, used = 0;
    int buffers = 0;
};
thread_local Scratch scratch;
constexpr uint64_t kIsScratch = uint64_t(1) << 33;

constexpr size_t kAligned = 256;  // as allocations are

size_t aligned(size_t bytes) {
    return (bytes + kAligned - 1) / kAligned * kAligned;
}

// Places for all that have none, or for none of them. Behind the last one there may be no room for what aligns the next.
bool take_scratch(halide_buffer_t *const *buffers, int count, size_t bytes) {
    if (scratch.used > scratch.bytes || bytes > scratch.bytes - scratch.used) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (!buffers[i]->device) {
            buffers[i]->device = scratch.begin + scratch.used;
            buffers[i]->device_interface = halide_cuda_device_interface();
            buffers[i]->flags |= kIsScratch;
            scratch.used += aligned(bytes_of(buffers[i]));
            scratch.buffers++;
        }
    }
    return true;
}

void give_back_scratch(DevicePointer pointer) {
    if (pointer - scratch.begin < scratch.bytes && --scratch.buffers == 0) {
        scratch.used = 0;
    }
}

// Of an array without elements no stride is used, and of a dimension of one element neither.
int check_strides(void *user_context, const halide_buffer_t *buffer) {
    for (int i = 0; i < buffer->dimensions && !is_empty(buffer); i++) {
        if (buffer->dim[i].stride < 0 && buffer->dim[i].extent > 1) {
            return report(user_context, halide_error_code_device_malloc_failed,
                          "a buffer with the stride %d in dimension %d cannot be put into device memory", buffer->dim[i].stride, i);
        }
    }
    return 0;
}

int allocate(void *user_context, DevicePointer *pointer, size_t bytes) {
    const Scope scope(user_context);
    if (scope.error) {
        return scope.error;
    }
    const Pool pool = current_pool(user_context);
    Result r = allocate(pointer, bytes, pool, scope.stream);
    if (r == kOutOfMemory && pool) {
        driver().pool_trim(pool, 0);
        r = allocate(pointer, bytes, pool, scope.stream);
    }
    return r ? report_allocation(user_context, r, bytes) : 0;
}

}  // namespace

void release_pools() {
    for (auto &p : pools) {
        const Pool pool = p.exchange(nullptr);
        if (pool && pool != kNoPools) {
            driver().pool_destroy(pool);
        }
    }
}

}  // namespace halyard_cuda

using namespace halyard_cuda;

extern "C" {

void halyard_cuda_set_scratch(void *memory, size_t bytes) {
    const size_t skipped = aligned(uintptr_t(memory)) - uintptr_t(memory);
    scratch = Scratch();
    if (bytes > skipped) {
        scratch.begin = uintptr_t(memory) + skipped;
        scratch.bytes = bytes - skipped;
    }
}

namespace {

// In one allocation, but for those that have memory.
int allocate_buffers(void *user_context, halide_buffer_t *const *buffers, int count, bool temporary) {
    size_t bytes = 0;
    int without = 0;
    for (int i = 0; i < count; i++) {
        if (buffers[i]->device) {
            continue;
        }
        if (const int error = check_strides(user_context, buffers[i])) {
            return error;
        }
        bytes = aligned(bytes) + bytes_of(buffers[i]);
        without++;
    }
    if (without == 0 || (temporary && take_scratch(buffers, count, bytes))) {
        return 0;
    }
    Shared *shared = nullptr;
    if (without > 1 && !(shared = static_cast<Shared *>(malloc(sizeof(Shared))))) {
        return report(user_context, halide_error_code_out_of_memory, "out of memory");
    }
    DevicePointer pointer = 0;
    if (const int error = allocate(user_context, &pointer, bytes)) {
        free(shared);
        return error;
    }
    if (shared) {
        *shared = {pointer, without};
    }
    for (int i = 0; i < count; i++) {
        if (buffers[i]->device) {
            continue;
        }
        buffers[i]->device = pointer;
        buffers[i]->device_interface = halide_cuda_device_interface();
        if (shared) {
            buffers[i]->flags |= kIsShared;
            buffers[i]->padding = shared;
        }
        pointer += aligned(bytes_of(buffers[i]));
    }
    return 0;
}

}  // namespace

/** Memory for buffers that a call gives back before it ends, in one allocation, but for those that have it. */
int halyard_cuda_malloc_together(void *user_context, halide_buffer_t *const *buffers, int count) {
    return allocate_buffers(user_context, buffers, count, true);
}

/** What a pipeline says where its schedule wants more memory on the device than it can count. */
int halyard_cuda_too_large(void *user_context, const char *func) {
    return report(user_context, halide_error_code_buffer_allocation_too_large,
                  "%s would have 2^31 elements or more on the device for arrays of these sizes, as it is scheduled", func);
}

// Of a caller's array, which outlives the call: never in the scratch memory.
int halide_cuda_device_malloc(void *user_context, halide_buffer_t *buffer) {
    return allocate_buffers(user_context, &buffer, 1, false);
}

int halide_cuda_device_free(void *user_context, halide_buffer_t *buffer) {
    if (!buffer->device) {
        return 0;
    }
    if (buffer->flags & kIsScratch) {
        give_back_scratch(buffer->device);
        buffer->flags &= ~kIsScratch;
        buffer->device = 0;
        buffer->device_interface = nullptr;
        return 0;
    }
    const Scope scope(user_context);
    if (scope.error) {
        return scope.error;
    }
    // A pointer that cannot be freed now cannot be freed later either.
    DevicePointer pointer = buffer->device;
    buffer->device = 0;
    buffer->device_interface = nullptr;
    if (buffer->flags & kIsShared) {
        auto *shared = static_cast<Shared *>(buffer->padding);
        buffer->flags &= ~kIsShared;
        buffer->padding = nullptr;
        if (--shared->buffers > 0) {
            return 0;
        }
        pointer = shared->pointer;
        free(shared);
    }
    const Result r = current_pool(user_context) ? driver().memory_free_async(pointer, scope.stream) : driver().memory_free(pointer);
    return r ? report(user_context, halide_error_code_device_free_failed, r, "device memory cannot be freed") : 0;
}

int halide_cuda_release_unused_device_allocations(void *) {
    for (auto &p : pools) {
        const Pool pool = p.load(std::memory_order_acquire);
        if (pool && pool != kNoPools) {
            driver().pool_trim(pool, 0);
        }
    }
    return 0;
}

// On a stream, the copy to page-locked host memory returns before the data is there, and what reads it
// next is host code.
int halide_cuda_copy_to_host(void *user_context, halide_buffer_t *buffer) {
    if (const int error = halide_cuda_buffer_copy(user_context, buffer, nullptr, buffer)) {
        return error;
    }
    const Scope scope(user_context);
    if (scope.error || !scope.stream) {
        return scope.error;
    }
    const Result r = driver().stream_synchronize(scope.stream);
    return r ? report(user_context, halide_error_code_copy_to_host_failed, r, "a copy to the host failed") : 0;
}

int halyard_cuda_wrap(halide_buffer_t *buffer, const void *pointer) {
    if (!buffer || buffer->dimensions < 0 || (buffer->dimensions > 0 && !buffer->dim)) {
        return report(nullptr, halide_error_code_device_wrap_native_failed, "halyard_cuda_wrap: the buffer is null, or has no dimensions");
    }
    if (buffer->device) {
        return report(nullptr, halide_error_code_device_wrap_native_failed, "halyard_cuda_wrap: the buffer has device memory already");
    }
    if (is_empty(buffer)) {
        return halide_cuda_wrap_device_ptr(nullptr, buffer, pointer ? uintptr_t(pointer) : kNoElements);
    }
    const Scope scope(nullptr);
    if (scope.error) {
        return scope.error;
    }
    int type = kMemoryTypeHost, managed = 0;
    const Result r = driver().pointer_attribute(&type, kPointerMemoryType, DevicePointer(uintptr_t(pointer)));
    driver().pointer_attribute(&managed, kPointerIsManaged, DevicePointer(uintptr_t(pointer)));
    if (!pointer || r || (type == kMemoryTypeHost && !managed)) {
        return report(nullptr, halide_error_code_device_wrap_native_failed, "halyard_cuda_wrap: %p is not device memory", pointer);
    }
    return halide_cuda_wrap_device_ptr(nullptr, buffer, uintptr_t(pointer));
}

int halyard_cuda_unwrap(halide_buffer_t *buffer) {
    if (!buffer) {
        return report(nullptr, halide_error_code_device_detach_native_failed, "halyard_cuda_unwrap: the buffer is null");
    }
    if (buffer->device && buffer->device_interface != halide_cuda_device_interface()) {
        return report(nullptr, halide_error_code_device_detach_native_failed, "halyard_cuda_unwrap: the buffer is not in CUDA memory");
    }
    return halide_cuda_detach_device_ptr(nullptr, buffer);
}

}  // extern "C"
