// Asynchronous copies into shared memory (cp.async). Those of the emulator: emulator/copies.h.

namespace halyard {

template<class T>
__device__ __forceinline__ uint32_t address_in_shared(const T *p) {
    return uint32_t(__cvta_generic_to_shared(p));
}

/** 16 bytes into shared memory, of which the first `valid` come from device memory and the rest as 0. */
template<class T>
__device__ __forceinline__ void copy_async_part(T *to, const T *from, int valid) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(address_in_shared(to)), "l"(from), "r"(valid) : "memory");
}
/** 4, 8 or 16 bytes into shared memory, or as many zeros. Those of 16 go past the L1. */
template<int Bytes, class T, class U>
__device__ __forceinline__ void copy_async(T *to, const U *from, bool condition = true) {
    if (Bytes == 16) {
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(address_in_shared(to)), "l"(from),
                     "r"(condition ? 16 : 0)
                     : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2, %3;" ::"r"(address_in_shared(to)), "l"(from), "n"(Bytes),
                     "r"(condition ? Bytes : 0)
                     : "memory");
    }
}
/** What the thread has asked for since the last time becomes a group. */
__device__ __forceinline__ void copy_async_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
/** Until at most so many groups of the thread are still under way. */
template<int Groups>
__device__ __forceinline__ void copy_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
}

/** Until all of the thread's copies have arrived. */
__device__ __forceinline__ void copy_async_wait_all() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

}  // namespace halyard
