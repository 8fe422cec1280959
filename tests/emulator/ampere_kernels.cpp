// A product on the tensor cores of sm_80 in the style of printed ones, right, or with the fault that it is asked for.
#include "device/device.h"

#include "device/ampere.h"

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

// y = a b in one tile of 32 x 64 by 4 warps of 16 x 32: two stages of 64 bytes deep.
template<class A, class B, bool Across, class Y>
void product(global<Y> y, const matrix<A> &a, const matrix<B> &b, int n, int slices, int fault) {
    constexpr int kThreads = 128, kDepth = 64 / sizeof(A);
    const shared<A> a_tiles = shared_array<A>(0, 2 * 32 * kDepth);
    const shared<B> b_tiles = shared_array<B>(4096, 2 * 64 * kDepth);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_row = warp / 2 * 16, warp_col = warp % 2 * 32;
    const auto fetch_slice = [&](int slice, int stage) {
        const int shift = fault == kNotAligned ? 4 : 0;
        fetch<chunk_along_depth<32>, kThreads>(a_tiles + stage * 32 * kDepth, a, slice * kDepth + shift, 0);
        if (Across) {
            fetch<chunk_across_columns<64>, kThreads>(b_tiles + stage * 64 * kDepth, b, 0, slice * kDepth);
        } else {
            fetch<chunk_along_depth<64>, kThreads>(b_tiles + stage * 64 * kDepth, b, slice * kDepth, 0);
        }
        copy_async_commit();
    };
    Y acc[16];
    for (int i = 0; i < 16; i++) {
        acc[i] = 0;
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
        for (int half_of_depth = 0; half_of_depth < 2; half_of_depth++) {
            uint32_t a_part[4], b_part[8];
            if (fault == kLaneWithoutLoad && threadIdx.x == 70) {
                continue;
            }
            if (fault == kLineNotAligned) {
                load_matrices(a_part, a_tiles + 1);
            }
            if (fault == kReadsUnwritten) {
                load_matrices(a_part, shared_array<A>(12288, 64));
            }
            if (fault == kWarpInTwoMinds && lane < 16) {
                load_matrices_across(a_part, a_tiles + stage * 32 * kDepth);
            }
            load_matrices(a_part, a_tiles + (stage * 32 * kDepth + place_along_depth<A>(place_of_rows<A>(warp_row), 0, half_of_depth)));
            const shared<B> b_stage = b_tiles + stage * 64 * kDepth;
            for (int j = 0; j < 2; j++) {
                if (Across) {
                    const int place = place_of_columns_across<B>(warp_col + j * 16);
                    load_matrices_across(b_part + j * 4, b_stage + place_across_columns<B>(place, half_of_depth));
                } else {
                    const int place = place_of_columns<B>(warp_col);
                    load_matrices(b_part + j * 4, b_stage + place_along_depth<B>(place, j, half_of_depth));
                }
            }
            multiply_fragments<A, B>(acc, a_part, b_part);
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

#define HALYARD_PRODUCT(NAME, A, B, ACROSS, Y)                                                                                             \
    extern "C" __global__ void __launch_bounds__(128, 1)                                                                                   \
        NAME(global<Y> y, global<const A> a, global<const B> b, int m, int n, int k, int a_stride, int b_stride, int fault) {              \
        constexpr int depth = 64 / sizeof(A);                                                                                              \
        product<A, B, ACROSS, Y>(y, {a, a_stride, k, m}, {b, b_stride, ACROSS ? n : k, ACROSS ? k : n}, 64, (k + depth - 1) / depth,       \
                                 fault);                                                                                                   \
    }                                                                                                                                      \
    HALYARD_KERNEL(NAME, "y, a, b, m, n, k, a_stride, b_stride, fault")

HALYARD_PRODUCT(product_kn_half, half, half, true, float)
HALYARD_PRODUCT(product_nk_half, half, half, false, float)
HALYARD_PRODUCT(product_kn_bfloat16, bfloat16, bfloat16, true, float)
HALYARD_PRODUCT(product_nk_bfloat16, bfloat16, bfloat16, false, float)
HALYARD_PRODUCT(product_s8_s8, int8_t, int8_t, false, int)
HALYARD_PRODUCT(product_s8_u8, int8_t, uint8_t, false, int)
HALYARD_PRODUCT(product_u8_s8, uint8_t, int8_t, false, int)
HALYARD_PRODUCT(product_u8_u8, uint8_t, uint8_t, false, int)
