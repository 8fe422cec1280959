#include "cuda_kernels.h"

#include <pthread.h>
#include <stdlib.h>

#include "cuda_facts.h"

namespace halyard_cuda {

std::atomic<KernelTable *> kernel_table{nullptr};

namespace {

constexpr int kFirstWithEarlyNodes = 12030;  // of the drivers: graphs take launches that may begin early as they are

struct Image {
    const void *data;
    Context context;
    Module module;
    Image *next;
};

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
// What follows is used under the mutex.
Image *images = nullptr;
Kernel *kernels = nullptr;  // all that are in the table
Kernel *dropped = nullptr;  // all that were, kept as a reader may still look at them
size_t count = 0;

void put(KernelTable *t, Kernel *k) {
    size_t i = kernel_hash(k->image, k->name, k->context);
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
    auto *t = static_cast<KernelTable *>(calloc(1, sizeof(KernelTable) + size * sizeof(Kernel *)));
    if (!t) {
        return false;
    }
    t->mask = size - 1;
    t->before = kernel_table.load(std::memory_order_relaxed);
    for (Kernel *k = kernels; k; k = k->next) {
        put(t, k);
    }
    kernel_table.store(t, std::memory_order_release);
    return true;
}

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

Result load_locked(const void *image, const char *name, Context context, Kernel **found) {
    *found = find_kernel(image, name, context);
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
    KernelTable *t = kernel_table.load(std::memory_order_relaxed);
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

int load_kernel(void *user_context, const void *image, const char *name, Context context, Kernel **found) {
    will_hold(user_context);
    const OutsideCapture capture;
    pthread_mutex_lock(&mutex);
    const Result r = load_locked(image, name, context, found);
    pthread_mutex_unlock(&mutex);
    return r ? report_load(user_context, r, name) : 0;
}

int raise_shared(void *user_context, Kernel *k, int bytes) {
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
        for (KernelTable *t = kernel_table.exchange(nullptr); t;) {
            KernelTable *const before = t->before;
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
