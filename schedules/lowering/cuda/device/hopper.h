// What kernels for sm_90a stand on beside device.h: mbarriers, TMA, and what surrounds wgmma.
// The instructions: PTX ISA 8.0 and later, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate" and "Data Movement".

#define HALYARD_HOPPER

#ifdef HALYARD_EMULATOR
#include "emulator/hopper.h"
#else

namespace halyard {

/** What TMA knows of a tensor; the launcher fills it in (cuTensorMapEncodeTiled). */
struct alignas(64) tensor_map {
    uint64_t opaque[16];
};

__device__ __forceinline__ uint32_t shared_address(const void *p) {
    return uint32_t(__cvta_generic_to_shared(p));
}

/** An mbarrier: a phase ends when `count` threads have arrived and all bytes that are expected have come. */
__device__ __forceinline__ void barrier_init(uint64_t *b, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(count));
}
__device__ __forceinline__ void barriers_ready() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ __forceinline__ void barrier_expect(uint64_t *b, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(b)), "r"(bytes) : "memory");
}
__device__ __forceinline__ void barrier_arrive(uint64_t *b) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(b)) : "memory");
}
/** Until the phase of that parity has ended. */
__device__ __forceinline__ void barrier_wait(uint64_t *b, int parity) {
    asm volatile("{\n.reg .pred done;\nwait: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra ended;\nbra wait;\n"
                 "ended:\n}" ::"r"(shared_address(b)),
                 "r"(parity)
                 : "memory");
}

/** The same by all threads of a warp, which are together again behind it: each asks for itself, and where a phase takes long they do not
 * all see its end at once. What comes next, as ldmatrix, mma.sync or wgmma, is done by a warp as a whole. */
__device__ __forceinline__ void warp_wait(uint64_t *b, int parity) {
    barrier_wait(b, parity);
    __syncwarp();
}

/** A box of a tensor into shared memory; what lies outside of the tensor comes as 0. */
__device__ __forceinline__ void tensor_load(void *to, const tensor_map &map, uint64_t *barrier, int c0, int c1) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
                     shared_address(to)),
                 "l"(&map), "r"(shared_address(barrier)), "r"(c0), "r"(c1)
                 : "memory");
}
__device__ __forceinline__ void tensor_load(void *to, const tensor_map &map, uint64_t *barrier, int c0, int c1, int c2) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(
                     shared_address(to)),
                 "l"(&map), "r"(shared_address(barrier)), "r"(c0), "r"(c1), "r"(c2)
                 : "memory");
}
__device__ __forceinline__ void tensor_load(void *to, const tensor_map &map, uint64_t *barrier, int c0, int c1, int c2, int c3) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(
            shared_address(to)),
        "l"(&map), "r"(shared_address(barrier)), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
        : "memory");
}
__device__ __forceinline__ void tensor_load(void *to, const tensor_map &map, uint64_t *barrier, int c0, int c1, int c2, int c3, int c4) {
    asm volatile(
        "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(
            shared_address(to)),
        "l"(&map), "r"(shared_address(barrier)), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
        : "memory");
}
/** Back; what lies outside is left out. */
__device__ __forceinline__ void tensor_store(const tensor_map &map, const void *from, int c0, int c1) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(shared_address(from)),
                 "r"(c0), "r"(c1)
                 : "memory");
}
__device__ __forceinline__ void tensor_store(const tensor_map &map, const void *from, int c0, int c1, int c2) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
                 "r"(shared_address(from)), "r"(c0), "r"(c1), "r"(c2)
                 : "memory");
}
__device__ __forceinline__ void tensor_store(const tensor_map &map, const void *from, int c0, int c1, int c2, int c3) {
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(&map),
                 "r"(shared_address(from)), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
                 : "memory");
}
__device__ __forceinline__ void tensor_store(const tensor_map &map, const void *from, int c0, int c1, int c2, int c3, int c4) {
    asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(&map),
                 "r"(shared_address(from)), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4)
                 : "memory");
}
__device__ __forceinline__ void tensor_store_commit() {
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/** Until what was stored has been read from shared memory; `tensor_store_wait`: until it is in device memory. */
__device__ __forceinline__ void tensor_store_wait_read() {
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
__device__ __forceinline__ void tensor_store_wait() {
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/** Ordinary stores to shared memory become visible to the tensor cores and TMA. */
__device__ __forceinline__ void fence_shared() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/** What other threads have copied or stored there, and this one knows of by a barrier, becomes visible to the tensor cores. */
__device__ __forceinline__ void fence_received() {
    fence_shared();
}
/** Which block of its cluster this one is. */
__device__ __forceinline__ int cluster_rank() {
    int rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
/** All threads of the cluster that have not ended, so many of each block, wait for each other. */
template<int Threads>
__device__ __forceinline__ void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}
/** Four elements of 4 bytes at the same place of another block's shared memory. */
template<class T>
__device__ __forceinline__ void cluster_load(T *to, const T *from, int rank) {
    union {
        uint32_t words[4];
        T values[4];
    } all;
    asm volatile("{\n.reg .b32 at;\nmapa.shared::cluster.u32 at, %4, %5;\nld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [at];\n}"
                 : "=r"(all.words[0]), "=r"(all.words[1]), "=r"(all.words[2]), "=r"(all.words[3])
                 : "r"(shared_address(from)), "r"(rank));
#pragma unroll
    for (int i = 0; i < 4; i++) {
        to[i] = all.values[i];
    }
}

/** Threads of one warpgroup wait for each other. */
__device__ __forceinline__ void warpgroup_barrier(int warpgroup) {
    asm volatile("bar.sync %0, 128;" ::"r"(warpgroup + 1) : "memory");
}
/** Threads of the first so many warpgroups. */
template<int Warpgroups>
__device__ __forceinline__ void warpgroups_barrier() {
    asm volatile("bar.sync 8, %0;" ::"n"(Warpgroups * 128) : "memory");
}
/** Warpgroups take turns: until it is this one's; and the next one's turn begins, of so many. The last gives the first
 * its first turn, and the first takes the turn that is left in the end. */
template<int Warpgroups>
__device__ __forceinline__ void ping_pong_begins(int warpgroup) {
    asm volatile("bar.sync %0, 256;" ::"r"(9 + warpgroup) : "memory");
}
template<int Warpgroups>
__device__ __forceinline__ void ping_pong_ends(int warpgroup) {
    asm volatile("bar.arrive %0, 256;" ::"r"(9 + (warpgroup + 1) % Warpgroups) : "memory");
}
template<int Count>
__device__ __forceinline__ void registers_less() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}
template<int Count>
__device__ __forceinline__ void registers_more() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}

/** What a thread has of the sums of its warpgroup. */
template<int Count, class T = float>
using sums = T[Count];

__device__ __forceinline__ void wgmma_fence() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/** Until at most so many groups are still under way. */
template<int Groups>
__device__ __forceinline__ void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Groups) : "memory");
}
/** 0, which the compiler does not know. */
__device__ __forceinline__ uint32_t no_bits() {
    uint32_t blocks;
    asm volatile("mov.u32 %0, %%nctaid.x;" : "=r"(blocks));
    return blocks >> 31;
}
/** Copies rows to where products read them out of registers, behind the wait for the products that had others there. To the compiler the
 * instruction that begins a product is the last to read its registers, which it would then use for what is computed meanwhile (the
 * results were wrong). So the rows that are replaced are read here once more: all of their bits that are set in `none`. */
template<int Count>
__device__ __forceinline__ void replace_registers(uint32_t (&rows)[Count], const uint32_t (&next)[Count], uint32_t none) {
#pragma unroll
    for (int i = 0; i < Count; i++) {
        rows[i] = (rows[i] & none) | (next[i] & ~none);
    }
}

/** Four 8x8 matrices of 16-bit elements, two neighbours of each in a register, to the lines whose addresses the lanes name; `_across`: a
 * column to a line. */
__device__ __forceinline__ void store_matrices_across(void *line, uint32_t m0, uint32_t m1, uint32_t m2, uint32_t m3) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(line)), "r"(m0), "r"(m1),
                 "r"(m2), "r"(m3)
                 : "memory");
}
__device__ __forceinline__ void store_matrices(void *line, uint32_t m0, uint32_t m1, uint32_t m2, uint32_t m3) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(line)), "r"(m0), "r"(m1), "r"(m2),
                 "r"(m3)
                 : "memory");
}

}  // namespace halyard

#endif

namespace halyard {

/** A matrix in shared memory, with the 128-byte swizzle: 16-byte chunk c of line r lies at chunk c ^ (r % 8).
 * Offsets in bytes: `leading` between blocks of 64 elements across, `stride` between groups of 8 lines. */
__device__ __forceinline__ uint64_t matrix_descriptor(uint32_t address, uint32_t leading, uint32_t stride) {
    return uint64_t((address & 0x3ffff) >> 4) | (uint64_t(leading >> 4) << 16) | (uint64_t(stride >> 4) << 32) | (uint64_t(1) << 62);
}

/** Steps of which another warpgroup has the stages. */
template<int Stages>
__device__ __forceinline__ void skip_steps(int &stage, int &phase, int steps) {
    const int next = stage + steps;
    phase ^= next / Stages % 2;
    stage = next % Stages;
}

/** The parts of a tile's sums that the blocks of a cluster have. In shared memory stand 16 rows after the other, each as its
 * warp has them, four sums of a thread together; of rows that are outside there is nothing. */
template<int Columns, class T, class Sums>
__device__ __forceinline__ void give_sums(Sums &own, shared<T> to, int rows) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (warp * 16 < rows) {
#pragma unroll
        for (int i = 0; i < Columns / 2; i += 4) {
            T four[4];
#pragma unroll
            for (int k = 0; k < 4; k++) {
                four[k] = own[i + k];
            }
            store(to + (warp * 16 * Columns + i * 32 + lane * 4), load_registers<4>(four));
        }
    }
}
template<int Columns, class T, class Sums>
__device__ __forceinline__ void take_sums(Sums &own, shared<T> from, int rows) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (warp * 16 < rows) {
#pragma unroll
        for (int i = 0; i < Columns / 2; i += 4) {
            const vec<T, 4> four = load<4>(from + (warp * 16 * Columns + i * 32 + lane * 4));
#pragma unroll
            for (int k = 0; k < 4; k++) {
                own[i + k] = four[k];
            }
        }
    }
}
/** For the first block, whose threads share the elements: adds the parts of the others, in their order. All loads of an element
 * are under way together: one after the other, each would wait for another block's shared memory. */
template<int Blocks, int Threads, int Columns, class T>
__device__ __forceinline__ void add_parts(shared<T> parts, int rows) {
    const int count = (rows + 15) / 16 * 16 * Columns;
#pragma unroll 2
    for (int i = threadIdx.x * 4; i < count; i += Threads * 4) {
        T others[Blocks - 1][4];
#pragma unroll
        for (int r = 1; r < Blocks; r++) {
            cluster_load(others[r - 1], parts + i, r);
        }
        vec<T, 4> sum = load<4>(parts + i);
#pragma unroll
        for (int r = 1; r < Blocks; r++) {
#pragma unroll
            for (int k = 0; k < 4; k++) {
                sum[k] = sum[k] + others[r - 1][k];
            }
        }
        store(parts + i, sum);
    }
}

}  // namespace halyard
