// Products of float32 by AMX: what splits numbers into parts, and the memory that a task keeps them in.

#include <immintrin.h>
#include <stdint.h>

#include "amx_tiles.h"
#include "mma_f32.h"
#include "of_thread.h"

using namespace halyard_mma;

namespace {

// Processors with AMX have it.
#define WITH_AVX512 __attribute__((target("avx512f")))

WITH_AVX512 inline __mmask16 first(int count) {
    return __mmask16(count >= 16 ? 0xffff : count > 0 ? (1 << count) - 1 : 0);
}

struct Avx512 {
    WITH_AVX512 static void split(const float *x, int count_x, const float *y, int count_y, int step, char *tiles, int count,
                                  ptrdiff_t bytes) {
        const __m512i upper = _mm512_set1_epi32(int(0xffff0000)), half = _mm512_set1_epi32(0x8000);
        for (int t = 0; t < count; t++, x += step, y += step, count_x -= step, count_y -= step, tiles += bytes) {
            __m512 vx = _mm512_maskz_loadu_ps(first(count_x), x), vy = _mm512_maskz_loadu_ps(first(count_y), y);
#pragma GCC unroll 3
            for (int part = 0; part < kParts; part++) {
                const __m512i near_x = _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(vx), half), upper),
                              near_y = _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(vy), half), upper);
                _mm512_store_si512(tiles + part * kTileBytes, _mm512_or_si512(_mm512_srli_epi32(near_x, 16), near_y));
                vx = _mm512_sub_ps(vx, _mm512_castsi512_ps(near_x));
                vy = _mm512_sub_ps(vy, _mm512_castsi512_ps(near_y));
            }
        }
    }

    WITH_AVX512 static bool finite(const float *x, int count) {
        __m512 zeros = _mm512_setzero_ps();
        for (int i = 0; i < count; i += 16) {
            const __m512 v = _mm512_maskz_loadu_ps(first(count - i), x + i);
            zeros = _mm512_add_ps(zeros, _mm512_sub_ps(v, v));
        }
        return _mm512_cmp_ps_mask(zeros, zeros, _CMP_UNORD_Q) == 0;
    }
};

// The memory of a thread, which its next task uses again.
struct KeptOfThread : TaskParts {};
using PartsOfThread = halyard::OfThread<KeptOfThread>;

__attribute__((destructor(halyard::kLastDestructor))) void end() {
    PartsOfThread::end();
}

constexpr size_t kWorthKeeping = 32 << 20;  // bytes

}  // namespace

namespace halyard_mma {

void forget_parts() {
    if (TaskParts *parts = PartsOfThread::get()) {
        parts->forget();
        if (parts->bytes() > kWorthKeeping) {
            parts->release();
        }
    }
}

}  // namespace halyard_mma

extern "C" {

// a_stays, b_stays: nothing writes to it between halyard_mma_begin() and halyard_mma_end().
// next_start: where in b a product of the same size starts that comes after `calls` calls with this start; -1: there is none.
int halyard_mma_f32(MATRICES, int a_stays, int b_stays, int next_start, int calls) {
    const Product p = product<float, float, float>(MATRIX_VALUES);
    TaskParts *parts = have_tiles() ? PartsOfThread::make() : nullptr;
    if (!parts) {
        multiply_plainly<float, float, float>(p);
        return 0;
    }
    if (!a_stays) {
        parts->a.forget();
    }
    if (!b_stays) {
        parts->b.forget();
    }
    const float *next_b = b_stays && next_start >= 0 ? static_cast<const float *>(b) + next_start : nullptr;
    ProductOfParts<Bf16, Avx512>(p, *parts, next_b, calls).run();
    return 0;
}

}  // extern "C"
