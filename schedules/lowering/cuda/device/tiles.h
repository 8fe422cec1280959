// What kernels of block programs (tiles/block_kernel.cpp) stand on beside ampere_fused.h, or hopper.h: barriers between warps that
// fetch tiles and warps that multiply them, and sums of which several warps or blocks have a part.

#ifndef HALYARD_EMULATOR

namespace halyard {

#if __CUDA_ARCH__ < 900 || !defined(HALYARD_HOPPER)
/** An mbarrier, as hopper.h has it, of threads alone: PTX ISA 7.0, "Parallel Synchronization and Communication Instructions". */
__device__ __forceinline__ void barrier_init(uint64_t *b, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address_in_shared(b)), "r"(count) : "memory");
}
__device__ __forceinline__ void barriers_ready() {}
__device__ __forceinline__ void barrier_arrive(uint64_t *b) {
    asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(address_in_shared(b)) : "memory");
}
__device__ __forceinline__ void barrier_wait(uint64_t *b, int parity) {
    asm volatile(
        "{\n.reg .pred done;\nwait: mbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n@done bra ended;\nbra wait;\nended:\n}" ::"r"(
            address_in_shared(b)),
        "r"(parity)
        : "memory");
}
/** The same by all threads of a warp, which are together again behind it. */
__device__ __forceinline__ void warp_wait(uint64_t *b, int parity) {
    barrier_wait(b, parity);
    __syncwarp();
}
#endif

/** The thread arrives when what it has asked for by cp.async has come. */
__device__ __forceinline__ void copies_arrive(uint64_t *b) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address_in_shared(b)) : "memory");
}

/** The threads that multiply wait for each other. */
template<int Threads>
__device__ __forceinline__ void parts_barrier() {
    asm volatile("bar.sync 8, %0;" ::"n"(Threads) : "memory");
}

}  // namespace halyard

#else

namespace halyard {

inline void copies_arrive(const shared<uint64_t> &b) {
    copy_async_wait_all();
    barrier_arrive(b);
}

template<int Threads>
void parts_barrier() {
    emulator::named_barrier(8, Threads, true);
}

}  // namespace halyard

#endif

namespace halyard {

/** So many turns on in a ring of slots. */
template<int Slots>
__device__ __forceinline__ void ring_forward(int &slot, int &phase, int turns) {
    const int ahead = slot + turns;
    slot = ahead % Slots;
    phase ^= ahead / Slots % 2;
}

/** Of a loop from `first` to `end` that has each `step`-th. */
__device__ __forceinline__ int turns_of_loop(int first, int end, int step) {
    return first < end ? (end - first + step - 1) / step : 0;
}

template<int Count>
__device__ __forceinline__ void clear_registers(uint32_t (&registers)[Count]) {
#pragma unroll
    for (int i = 0; i < Count; i++) {
        registers[i] = 0;
    }
}

/** A thread's part of sums, of which so many threads have others, where another thread with the same number adds it to its own: four
 * together, those of neighbours one after the other. */
template<int Count, int Threads, class T, class Sums>
__device__ __forceinline__ void give_part(Sums &own, shared<T> to, int thread) {
#pragma unroll
    for (int i = 0; i < Count; i += 4) {
        T four[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            four[k] = own[i + k];
        }
        store(to + (i * Threads + thread * 4), load_registers<4>(four));
    }
}
/** Adds so many parts, in their order, which are so many elements apart. */
template<int Parts, int Count, int Threads, int Apart, class T, class Sums>
__device__ __forceinline__ void add_parts_of_warps(Sums &own, shared<T> from, int thread) {
#pragma unroll
    for (int p = 0; p < Parts; p++) {
#pragma unroll
        for (int i = 0; i < Count; i += 4) {
            const vec<T, 4> four = load<4>(from + (p * Apart + i * Threads + thread * 4));
#pragma unroll
            for (int k = 0; k < 4; k++) {
                own[i + k] = own[i + k] + four[k];
            }
        }
    }
}

#ifdef HALYARD_HOPPER
/** Adds those of the other blocks of a cluster, for its first. All loads of a sum are under way together. */
template<int Blocks, int Count, int Threads, class T, class Sums>
__device__ __forceinline__ void add_parts_of_blocks(Sums &own, shared<T> from, int thread) {
#pragma unroll
    for (int i = 0; i < Count; i += 4) {
        T others[Blocks - 1][4];
#pragma unroll
        for (int r = 1; r < Blocks; r++) {
            cluster_load(others[r - 1], from + (i * Threads + thread * 4), r);
        }
#pragma unroll
        for (int r = 1; r < Blocks; r++) {
#pragma unroll
            for (int k = 0; k < 4; k++) {
                own[i + k] = own[i + k] + others[r - 1][k];
            }
        }
    }
}
#endif

}  // namespace halyard
