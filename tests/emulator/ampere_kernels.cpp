// A product on the tensor cores of sm_80 in the style of printed ones, right, or with the fault that it is asked for.
#include "device.h"

#include "ampere.h"

enum Fault {
    kNone,
    kNoWait,
    kNoBarrier,
    kRefillsTooEarly,
    kLaneWithoutLoad,
    kWarpInTwoMinds,
    kLineNotAligned,
    kReadsUnwritten,
    kNotAligned,
};

// y = a b in one tile of 32 x 64 by 4 warps of 16 x 32: two stages of 32 deep.
template<class T, bool Across>
void product(global<float> y, const matrix<T> &a, const matrix<T> &b, int n, int slices, int fault) {
    constexpr int kThreads = 128;
    const shared<T> a_tiles = shared_array<T>(0, 2 * 32 * 32), b_tiles = shared_array<T>(4096, 2 * 64 * 32);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_row = warp / 2 * 16, warp_col = warp % 2 * 32;
    const auto fetch_slice = [&](int slice, int stage) {
        const int shift = fault == kNotAligned ? 4 : 0;
        fetch<chunk_along_depth<32>, kThreads>(a_tiles + stage * 1024, a, slice * 32 + shift, 0);
        if (Across) {
            fetch<chunk_across_columns<64>, kThreads>(b_tiles + stage * 2048, b, 0, slice * 32);
        } else {
            fetch<chunk_along_depth<64>, kThreads>(b_tiles + stage * 2048, b, slice * 32, 0);
        }
        copy_async_commit();
    };
    float acc[16];
    for (int i = 0; i < 16; i++) {
        acc[i] = 0.0f;
    }
    fetch_slice(0, 0);
    for (int slice = 0; slice < slices; slice++) {
        const int stage = slice % 2;
        fetch_slice(slice + 1, stage ^ 1);
        if (fault != kNoWait) {
            copy_async_wait<1>();
        }
        if (fault != kNoBarrier) {
            __syncthreads();
        }
        for (int depth = 0; depth < 32; depth += 16) {
            uint32_t a_part[4], b_part[8];
            if (fault == kLaneWithoutLoad && threadIdx.x == 70) {
                continue;
            }
            if (fault == kLineNotAligned) {
                load_matrices(a_part, a_tiles + 1);
            }
            if (fault == kReadsUnwritten) {
                load_matrices(a_part, shared_array<T>(12288, 64));
            }
            if (fault == kWarpInTwoMinds && lane < 16) {
                load_matrices_across(a_part, a_tiles + stage * 1024);
            }
            load_rows(a_part, a_tiles + stage * 1024, warp_row, depth);
            if (Across) {
                load_columns_across(b_part, b_tiles + stage * 2048, warp_col, depth);
            } else {
                load_columns(b_part, b_tiles + stage * 2048, warp_col, depth);
            }
            multiply_fragments<T>(acc, a_part, b_part);
        }
        if (fault != kRefillsTooEarly) {
            __syncthreads();
        }
    }
    copy_async_wait<0>();
    for (int i = 0; i < 16; i++) {
        y[(warp_row + i / 2 % 2 * 8 + lane / 4) * n + warp_col + i / 4 * 8 + lane % 4 * 2 + i % 2] = acc[i];
    }
}

#define HALYARD_PRODUCT(NAME, TYPE, ACROSS)                                                                        \
    extern "C" __global__ void __launch_bounds__(128, 1)                                                           \
        NAME(global<float> y, global<const TYPE> a, global<const TYPE> b, int m, int n, int k, int a_stride,       \
             int b_stride, int fault) {                                                                            \
        product<TYPE, ACROSS>(y, {a, a_stride, k, m}, {b, b_stride, ACROSS ? n : k, ACROSS ? k : n}, 64,           \
                              (k + 31) / 32, fault);                                                               \
    }                                                                                                              \
    HALYARD_KERNEL(NAME, "y, a, b, m, n, k, a_stride, b_stride, fault")

HALYARD_PRODUCT(product_kn_half, half, true)
HALYARD_PRODUCT(product_nk_half, half, false)
HALYARD_PRODUCT(product_kn_bfloat16, bfloat16, true)
HALYARD_PRODUCT(product_nk_bfloat16, bfloat16, false)
