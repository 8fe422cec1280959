// The driver's memory: allocations, pools, descriptions of tensors, copies.

#include <cstring>

#include "lowering/cuda/emulator/tensor_map.h"
#include "world.h"

using namespace halyard::emulator::driver;

extern "C" {

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

// Memory for addresses that are reserved before. A handle is nothing but its size: it is mapped once.
namespace {
constexpr size_t kGranularity = 4096;
}

int cuMemGetAllocationGranularity(size_t *bytes, const void *, int) {
    ENTER;
    *bytes = kGranularity;
    return kSuccess;
}

int cuMemAddressReserve(uint64_t *address, size_t bytes, size_t, uint64_t, uint64_t) {
    ENTER_CONTEXT;
    if (!w.settings["virtual_memory"]) {
        return kNotSupported;
    }
    if (bytes % kGranularity != 0) {
        return kInvalidValue;
    }
    *address = w.memory[current()->device].reserve(bytes, current());
    return *address ? kSuccess : kOutOfMemory;
}

int cuMemAddressFree(uint64_t address, size_t) {
    ENTER_CONTEXT;
    return free_memory(address);
}

int cuMemCreate(uint64_t *handle, size_t bytes, const void *, uint64_t) {
    ENTER_CONTEXT;
    if (fails_now("fail_allocation")) {
        return kOutOfMemory;
    }
    *handle = bytes;
    return bytes % kGranularity == 0 ? kSuccess : kInvalidValue;
}

int cuMemRelease(uint64_t) {
    ENTER_CONTEXT;
    return kSuccess;
}

int cuMemMap(uint64_t address, size_t bytes, size_t, uint64_t handle, uint64_t) {
    ENTER_CONTEXT;
    const bool mapped = bytes == handle && w.memory[current()->device].map(address, bytes, uint64_t(w.settings["memory"]) << 20);
    return mapped ? kSuccess : kOutOfMemory;
}

int cuMemUnmap(uint64_t address, size_t bytes) {
    ENTER_CONTEXT;
    return w.memory[current()->device].unmap(address, bytes) ? kSuccess : kInvalidValue;
}

int cuMemSetAccess(uint64_t, size_t, const void *, size_t) {
    ENTER_CONTEXT;
    return kSuccess;
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
                           const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave, int swizzle, int,
                           int fill) {
    constexpr int kFloat16 = 6, kFloat32 = 7, kBFloat16 = 9, kMaxBox = 256;
    const int bytes = type == 0                                            ? 1
                      : type == 1 || type == kFloat16 || type == kBFloat16 ? 2
                      : type == 2 || type == 3 || type == kFloat32         ? 4
                                                                           : 0;
    const int swizzles[] = {0, 32, 64, 128};
    if (world().settings["capability"] < 90 || bytes == 0 || interleave != 0 || swizzle < 0 || swizzle > 3 || fill != 0) {
        return kNotSupported;  // by the device, or by this driver
    }
    if (reinterpret_cast<uintptr_t>(map) % 64 != 0 || rank < 1 || rank > halyard::tensor_map::kMaxRank || address == 0 ||
        address % 16 != 0) {
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
    char *const bytes = bytes_at(to, 4 * count);
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

}  // extern "C"
