// A product on the tensor cores of sm_90a in the style of printed ones, right, or with the fault that it is asked for.
#include "device/device.h"

#include "device/hopper.h"

enum Fault {
    kNone,
    kNoWaitForLoad,
    kWrongParity,
    kNoWaitForEmptyStage,
    kReleasesTooEarly,
    kNoRegisterFence,
    kReadsSumsTooEarly,
    kNoCommit,
    kNoFenceOfStores,
    kNoBarrierAfterFence,
    kNoWaitForStore,
    kNoCommitOfStore,
    kOverwritesResult,
    kBarriersNotReady,
    kNoBarrierAfterInit,
    kBarrierNotMade,
    kExpectsTooFewBytes,
    kExpectsTooManyBytes,
    kArrivesTooOften,
    kNeverArrives,
    kWarpWithoutProduct,
    kTooManyRegisters,
    kRegistersOfHalf,
    kOperandWithoutFence,
    kOperandWithoutBarrier,
    kMisplacedOperand,
    kMisplacedBox,
    kReadsWhileLoading,
    kOtherCommit,
    kNoWaitAtEnd,
};

#define HALYARD_PRODUCT(NAME, TYPE, ACROSS)                                                                                                \
    extern "C" __global__ void __launch_bounds__(384, 1)                                                                                   \
        NAME(const __grid_constant__ tensor_map y_map, const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map, \
             int steps, int tiles, int fault) {                                                                                            \
        product<TYPE, ACROSS>(y_map, a_map, b_map, steps, tiles, fault);                                                                   \
    }                                                                                                                                      \
    HALYARD_KERNEL(NAME, "y_map, a_map, b_map, steps, tiles, fault")

// y = a b in tiles of 64 x 64: two stages of a tile of each operand, 64 deep; the result leaves by TMA.
template<class T, bool Across>
void product(const tensor_map &y_map, const tensor_map &a_map, const tensor_map &b_map, int steps, int tiles, int fault) {
    constexpr int kTile = 64 * 64;
    const shared<T> a_tiles = shared_array<T>(0, 2 * kTile), b_tiles = shared_array<T>(16384, 2 * kTile),
                    y_tile = shared_array<T>(32768, kTile);
    const shared<uint64_t> full = shared_array<uint64_t>(40960, 2), empty = shared_array<uint64_t>(40976, 2);
    const int warpgroup = threadIdx.x / 128, thread = threadIdx.x % 128;
    if (threadIdx.x == 0 && fault != kBarrierNotMade) {
        for (int i = 0; i < 2; i++) {
            barrier_init(&full[i], 1);
            barrier_init(&empty[i], 1);
        }
        if (fault != kBarriersNotReady) {
            barriers_ready();
        }
    }
    if (fault != kNoBarrierAfterInit) {
        __syncthreads();
    }
    int stage = 0, phase = 0;
    if (warpgroup == 1) {
        if (fault != kTooManyRegisters) {
            registers_less<40>();
        }
        if (thread == 0) {
            for (int tile = 0; tile < tiles; tile++) {
                for (int step = 0; step < steps; step++) {
                    if (fault != kNoWaitForEmptyStage) {
                        barrier_wait(&empty[stage], phase ^ 1);
                    }
                    const int missing = fault == kExpectsTooFewBytes ? -16 : fault == kExpectsTooManyBytes ? 16 : 0;
                    barrier_expect(&full[stage], 4 * kTile + missing);
                    const shared<T> a = a_tiles + (stage * kTile + (fault == kMisplacedBox ? 8 : 0));
                    tensor_load(a, a_map, &full[stage], step * 64, tile * 64);
                    tensor_load(b_tiles + stage * kTile, b_map, &full[stage], Across ? 0 : step * 64, Across ? step * 64 : 0);
                    stage ^= 1;
                    phase ^= stage == 0;
                }
            }
        }
        return;
    }
    if (warpgroup == 2) {
        return;
    }
    if (fault != kRegistersOfHalf || thread < 64) {
        registers_more<232>();
    }
    const int lane = thread % 32, warp = thread / 32;
    for (int tile = 0; tile < tiles; tile++) {
        sums<32> acc;
        for (int i = 0; i < 32; i++) {
            acc[i] = 0.0f;
        }
        int before = -1;
        for (int step = 0; step < steps; step++) {
            if (fault != kNoWaitForLoad) {
                barrier_wait(&full[stage], phase ^ (fault == kWrongParity));
            }
            if (fault == kReadsWhileLoading && thread == 9) {
                acc[0] = float(a_tiles[(stage ^ 1) * kTile]);
            }
            if (fault == kOperandWithoutFence || fault == kOperandWithoutBarrier) {
                a_tiles[stage * kTile + thread] = a_tiles[stage * kTile + thread];
                if (fault == kOperandWithoutBarrier) {
                    fence_shared();
                } else {
                    warpgroup_barrier(warpgroup);
                }
            }
            if (fault != kNoRegisterFence) {
                wgmma_fence();
            }
            const uint32_t a = shared_address(a_tiles + stage * kTile),
                           b = shared_address(b_tiles + (stage * kTile + (fault == kMisplacedOperand ? 64 : 0)));
            for (int d = 0; d < 4; d++) {
                if (fault == kWarpWithoutProduct && warp == 3 && d == 2) {
                    continue;
                }
                const uint64_t b_part = Across ? matrix_descriptor(b + d * 2048, 8192, 1024) : matrix_descriptor(b + d * 32, 16, 1024);
                emulator::multiply<T, T, 64, Across>(acc, matrix_descriptor(a + d * 32, 16, 1024), b_part);
            }
            if (fault != kNoCommit) {
                wgmma_commit();
            }
            if (fault == kOtherCommit && warp == 1) {
                wgmma_commit();
            }
            if (fault != kReleasesTooEarly) {
                wgmma_wait<1>();
            }
            if (fault == kReleasesTooEarly) {
                before = stage;
            }
            if (before >= 0 && fault != kNeverArrives && (thread == 0 || fault == kArrivesTooOften)) {
                barrier_arrive(&empty[before]);
            }
            before = stage;
            stage ^= 1;
            phase ^= stage == 0;
        }
        if (fault != kReadsSumsTooEarly) {
            wgmma_wait<0>();
        }
        if (thread == 0 && fault != kReleasesTooEarly) {
            barrier_arrive(&empty[before]);
        }
        if (fault != kOverwritesResult && thread == 0) {
            tensor_store_wait_read();
        }
        warpgroup_barrier(warpgroup);
        for (int first = 0; first < 32; first += 8) {
            uint32_t pair[4];
            for (int i = 0; i < 4; i++) {
                const vec<T, 2> v = to<T>(vec<float, 2>{acc[first + 2 * i], acc[first + 2 * i + 1]});
                pair[i] = v[0].bits | uint32_t(v[1].bits) << 16;
            }
            const int line = warp * 16 + lane % 16, chunk = first / 4 + lane / 16;
            store_matrices(y_tile + (line * 64 + (chunk ^ line % 8) * 8), pair[0], pair[1], pair[2], pair[3]);
        }
        if (fault != kNoFenceOfStores) {
            fence_shared();
        }
        if (fault != kNoBarrierAfterFence) {
            warpgroup_barrier(warpgroup);
        }
        if (thread == 0) {
            tensor_store(y_map, y_tile, 0, tile * 64);
            if (fault != kNoCommitOfStore) {
                tensor_store_commit();
            }
        }
    }
    if (thread == 0 && fault != kNoWaitForStore) {
        tensor_store_wait();
    }
    if (fault == kNoWaitAtEnd) {
        sums<32> acc;
        wgmma_fence();
        emulator::multiply<T, T, 64, Across>(acc, matrix_descriptor(32768, 16, 1024), matrix_descriptor(32768, 8192, 1024), false);
        wgmma_commit();
    }
}

HALYARD_PRODUCT(product_kn_half, half, true)
HALYARD_PRODUCT(product_nk_half, half, false)
HALYARD_PRODUCT(product_nk_bfloat16, bfloat16, false)

// A tile of bytes, 64 x 64, both operands 128 deep from TMA.
template<class A, class B>
void product_of_bytes(global<int> y, const tensor_map &a_map, const tensor_map &b_map) {
    const shared<A> a = shared_array<A>(0, 64 * 128);
    const shared<B> b = shared_array<B>(8192, 64 * 128);
    const shared<uint64_t> full = shared_array<uint64_t>(16384, 1);
    if (threadIdx.x == 0) {
        barrier_init(&full[0], 1);
        barriers_ready();
        barrier_expect(&full[0], 16384);
        tensor_load(a, a_map, &full[0], 0, 0);
        tensor_load(b, b_map, &full[0], 0, 0);
    }
    __syncthreads();
    barrier_wait(&full[0], 0);
    sums<32, int> acc;
    wgmma_fence();
    for (int d = 0; d < 4; d++) {
        emulator::multiply<A, B, 64, false>(acc, matrix_descriptor(shared_address(a) + d * 32, 16, 1024),
                                            matrix_descriptor(shared_address(b) + d * 32, 16, 1024), d > 0);
    }
    wgmma_commit();
    wgmma_wait<0>();
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
    for (int i = 0; i < 32; i++) {
        y[(row + i / 2 % 2 * 8) * 64 + i / 4 * 8 + lane % 4 * 2 + i % 2] = acc[i];
    }
}

#define HALYARD_PRODUCT_OF_BYTES(NAME, A, B)                                                                                               \
    extern "C" __global__ void __launch_bounds__(128, 1)                                                                                   \
        NAME(global<int> y, const __grid_constant__ tensor_map a_map, const __grid_constant__ tensor_map b_map) {                          \
        product_of_bytes<A, B>(y, a_map, b_map);                                                                                           \
    }                                                                                                                                      \
    HALYARD_KERNEL(NAME, "y, a_map, b_map")

HALYARD_PRODUCT_OF_BYTES(product_s8_s8, int8_t, int8_t)
HALYARD_PRODUCT_OF_BYTES(product_s8_u8, int8_t, uint8_t)
HALYARD_PRODUCT_OF_BYTES(product_u8_s8, uint8_t, int8_t)
HALYARD_PRODUCT_OF_BYTES(product_u8_u8, uint8_t, uint8_t)

// The left operand in registers: y = x b, x as threads have it, b 16 x 64, its columns neighbours.
extern "C" __global__ void __launch_bounds__(128, 1)
    product_of_registers(global<float> y, global<const half> x, const __grid_constant__ tensor_map b_map) {
    const shared<half> b = shared_array<half>(0, 16 * 64);
    const shared<uint64_t> full = shared_array<uint64_t>(2048, 1);
    if (threadIdx.x == 0) {
        barrier_init(&full[0], 1);
        barriers_ready();
        barrier_expect(&full[0], 2048);
        tensor_load(b, b_map, &full[0], 0, 0);
    }
    __syncthreads();
    barrier_wait(&full[0], 0);
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
    uint32_t a[4];
    for (int i = 0; i < 4; i++) {
        const int from = (row + i % 2 * 8) * 16 + lane % 4 * 2 + i / 2 * 8;
        a[i] = half(x[from]).bits | uint32_t(half(x[from + 1]).bits) << 16;
    }
    sums<32> acc;
    wgmma_fence();
    emulator::multiply<half, half, 64, true>(acc, a, matrix_descriptor(shared_address(b), 8192, 1024), false);
    wgmma_commit();
    wgmma_wait<0>();
    for (int i = 0; i < 32; i++) {
        y[(row + i / 2 % 2 * 8) * 64 + i / 4 * 8 + lane % 4 * 2 + i % 2] = acc[i];
    }
}
HALYARD_KERNEL(product_of_registers, "y, x, b_map")

// Boxes of x, 64 x 64, one after the other in the same place; y is the sum of what each thread has read of them.
extern "C" __global__ void boxes_in_one_place(global<float> y, const __grid_constant__ tensor_map x_map, int boxes, int fault) {
    const bool of_block = fault == 4 || fault == 5;
    const shared<half> tile = shared_array<half>(0, 64 * 64);
    const shared<uint64_t> full = shared_array<uint64_t>(8192, 1), empty = shared_array<uint64_t>(8200, 1);
    const int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        barrier_init(&full[0], 1);
        barrier_init(&empty[0], 8);
        barriers_ready();
    }
    __syncthreads();
    float sum = 0.0f;
    for (int i = 0; i < boxes; i++) {
        if (threadIdx.x == 0) {
            if (i > 0 && !of_block) {
                barrier_wait(&empty[0], (i - 1) % 2);
            }
            barrier_expect(&full[0], 8192);
            tensor_load(tile, x_map, &full[0], 0, i * 64);
        }
        barrier_wait(&full[0], i % 2);
        if (fault == 2) {
            fence_shared();
        }
        sum += float(tile[threadIdx.x * 16]) + float(tile[7]);  // one that all read, at times of their own
        if (fault == 0 || fault == 4 || (fault == 3 && lane != 5)) {
            fence_shared();
        }
        if (of_block) {
            __syncthreads();
            continue;
        }
        __syncwarp();
        if (lane == 0) {
            barrier_arrive(&empty[0]);
        }
    }
    y[threadIdx.x] = sum;
}
HALYARD_KERNEL(boxes_in_one_place, "y, x_map, boxes, fault")

// Two halves of a block that hand an array to and fro by barriers with a number: 1: filled, 2: read.
extern "C" __global__ void numbered_barriers(global<int> y, int rounds, int fault) {
    const shared<int> s = shared_array<int>(0, 128);
    const int t = threadIdx.x % 128;
    for (int i = 0; i < rounds; i++) {
        if (threadIdx.x < 128) {
            if (i > 0 && fault != 1) {
                emulator::named_barrier(2, 256, true);
            }
            s[t] = i * 1000 + t;
            emulator::named_barrier(1, fault == 2 ? 128 : 256, false);
        } else {
            emulator::named_barrier(1, 256, true);
            y[t] = y[t] + s[127 - t];
            if (i + 1 < rounds) {
                emulator::named_barrier(2, 256, false);
            }
        }
    }
    if (fault == 3 && threadIdx.x < 32) {
        warpgroup_barrier(3);
    }
}
HALYARD_KERNEL(numbered_barriers, "y, rounds, fault")

// Clusters of four blocks, the first of which adds up what all of them have: block b of cluster c has 100 c + b + thread.
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_sum(global<int> y, int fault) {
    const shared<int> s = shared_array<int>(0, 128 * 4);
    const int rank = cluster_rank(), cluster = blockIdx.x / 4, t = threadIdx.x;
    for (int i = 0; i < 4; i++) {
        s[t * 4 + i] = 100 * cluster + rank + t;
    }
    if (fault != 1) {
        cluster_barrier<128>();
    }
    if (rank == (fault == 2 ? 1 : 0)) {
        int sum[4] = {}, of_block[4];
        for (int r = 1; r < 4; r++) {
            cluster_load(of_block, s + t * 4, r);
            for (int i = 0; i < 4; i++) {
                sum[i] += of_block[i];
            }
        }
        y[cluster * 128 + t] = sum[0] + int(s[t * 4]);
    }
    if (fault == 3 ? rank < 3 : fault != 4) {
        cluster_barrier<128>();
    }
}
HALYARD_KERNEL_OF_CLUSTER(4, cluster_sum, "y, fault")
