#ifndef HALYARD_CUDA_KERNELS_H
#define HALYARD_CUDA_KERNELS_H

/** \file
 * The kernels of compiled pipelines, in the contexts in which they are launched. A pipeline carries one image for all of its kernels
 * and all architectures; the first launch in a context loads it, and every later one finds the kernel in a table that is read without
 * a lock.
 */

#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "cuda_api.h"

namespace halyard_cuda {

/** A kernel in a context, as its code names it: by addresses. */
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

/** Open addressing, never full, never changed but for empty slots that get a kernel. */
struct KernelTable {
    size_t mask;
    KernelTable *before;
    std::atomic<Kernel *> slots[1];
};

extern std::atomic<KernelTable *> kernel_table;

inline size_t kernel_hash(const void *image, const char *name, Context context) {
    const uint64_t x = (uintptr_t(image) + 3 * uintptr_t(name) + 5 * (uintptr_t(context) >> 4)) * 0x9E3779B97F4A7C15u;
    return x >> 32;
}

/** Null where it was not loaded yet. */
inline Kernel *find_kernel(const void *image, const char *name, Context context) {
    const KernelTable *t = kernel_table.load(std::memory_order_acquire);
    if (!t) {
        return nullptr;
    }
    for (size_t i = kernel_hash(image, name, context);; i++) {
        Kernel *k = t->slots[i & t->mask].load(std::memory_order_acquire);
        if (!k || (k->image == image && k->name == name && k->context == context)) {
            return k;
        }
    }
}

/** Loads a kernel that find_kernel() does not find. 0, or a code that has been reported. */
int load_kernel(void *user_context, const void *image, const char *name, Context context, Kernel **found);

/** Lets launches of the kernel ask for so many bytes of shared memory. 0, or a code that has been reported. */
int raise_shared(void *user_context, Kernel *k, int bytes);

}  // namespace halyard_cuda

#endif
