// Products of float32 by AMX: what splits numbers into parts, and the memory that a task keeps them in.

#include <immintrin.h>
#include <stdint.h>

#include "amx_tiles.h"
#include "mma_f32.h"
#include "of_thread.h"

using namespace halyard_mma;

namespace {

// Processors with AMX have it.
#define WITH_AVX512 __attribute__((target("avx512f,avx512bw")))

WITH_AVX512 inline __mmask16 first(int count) {
    return __mmask16(count >= 16 ? 0xffff : count > 0 ? (1 << count) - 1 : 0);
}

struct Avx512 {
    WITH_AVX512 static void split(const float *x, int count_x, const float *y, int count_y, char *row) {
        split(_mm512_maskz_loadu_ps(first(count_x), x), _mm512_maskz_loadu_ps(first(count_y), y), row);
    }
    WITH_AVX512 static void split(const float *x, const float *y, char *row) {
        split(_mm512_loadu_ps(x), _mm512_loadu_ps(y), row);
    }

    WITH_AVX512 static bool finite(const float *x, int count) {
        __m512 zeros = _mm512_setzero_ps();
        for (int i = 0; i < count; i += 16) {
            const __m512 v = _mm512_maskz_loadu_ps(first(count - i), x + i);
            zeros = _mm512_add_ps(zeros, _mm512_sub_ps(v, v));
        }
        return _mm512_cmp_ps_mask(zeros, zeros, _CMP_UNORD_Q) == 0;
    }

    WITH_AVX512 static void put(const float *sums, int count, bool fresh, float *c) {
        for (int i = 0; i < count; i += 16) {
            const __mmask16 there = first(count - i);
            const __m512 sum = _mm512_maskz_loadu_ps(there, sums + i);
            _mm512_mask_storeu_ps(c + i, there, fresh ? sum : _mm512_add_ps(_mm512_maskz_loadu_ps(there, c + i), sum));
        }
    }

    /** A product of kSkinny at most, by multiply-adds. */
    WITH_AVX512 static void multiply_few(const Product &p) {
        p.rows == 1 ? few<1, 4>(p) : p.rows == 2 ? few<2, 4>(p) : p.rows <= 4 ? few<4, 4>(p) : few<8, 3>(p);
    }

private:
    template<int Rows, int Most>
    WITH_AVX512 static void few(const Product &p) {
        for (int col = 0, cols = 0; col < p.cols; col += cols) {
            const int vectors = (p.cols - col + 15) / 16;
            cols = 16 * (vectors == 4 && Most == 3 ? 2 : least(vectors, Most));
            cols == 16   ? few<Rows, 1>(p, col)
            : cols == 32 ? few<Rows, 2>(p, col)
            : cols == 48 ? few<Rows, 3>(p, col)
                         : few<Rows, Most>(p, col);
        }
    }

    // The last rows and columns may be missing.
    template<int Rows, int Count>
    WITH_AVX512 static void few(const Product &p, int col) {
        const __mmask16 last = first(p.cols - col - 16 * (Count - 1));
        const float *a[Rows];
        __m512 sums[Rows][Count];
#pragma GCC unroll 8
        for (int r = 0; r < Rows; r++) {
            a[r] = static_cast<const float *>(p.a.at(least(r, p.rows - 1), 0));
#pragma GCC unroll 4
            for (int i = 0; i < Count; i++) {
                sums[r][i] = _mm512_setzero_ps();
            }
        }
        for (int k = 0; k < p.groups; k++) {
            const float *b = static_cast<const float *>(p.b.at(k, col));
            __m512 bs[Count];
#pragma GCC unroll 4
            for (int i = 0; i < Count; i++) {
                _mm_prefetch(reinterpret_cast<const char *>(b + 16 * i) + kAhead, _MM_HINT_T0);
                bs[i] = _mm512_maskz_loadu_ps(i + 1 < Count ? __mmask16(0xffff) : last, b + 16 * i);
            }
#pragma GCC unroll 8
            for (int r = 0; r < Rows; r++) {
#pragma GCC unroll 4
                for (int i = 0; i < Count; i++) {
                    sums[r][i] = _mm512_fmadd_ps(_mm512_set1_ps(a[r][k]), bs[i], sums[r][i]);
                }
            }
        }
        alignas(64) float rows[Rows][16 * Count];
#pragma GCC unroll 8
        for (int r = 0; r < Rows; r++) {
#pragma GCC unroll 4
            for (int i = 0; i < Count; i++) {
                _mm512_store_ps(&rows[r][16 * i], sums[r][i]);
            }
        }
        for (int r = 0; r < p.rows; r++) {
            put(rows[r], least(16 * Count, p.cols - col), p.fresh, static_cast<float *>(p.c.at(r, col)));
        }
    }
    // So far ahead lines are there when they are read, from L3 and from memory. Half of it and less are far slower.
    static constexpr int kAhead = 4096;  // bytes

    WITH_AVX512 static void split(__m512 x, __m512 y, char *row) {
        const __m512i half = _mm512_set1_epi32(0x8000);
        split_off(&x, _mm512_add_epi32(_mm512_castps_si512(x), half), &y, _mm512_add_epi32(_mm512_castps_si512(y), half), row);
        split_off(&x, _mm512_castps_si512(x), &y, _mm512_castps_si512(y), row + kTileBytes);
        _mm512_store_si512(row + 2 * kTileBytes, pairs(_mm512_castps_si512(x), _mm512_castps_si512(y)));
    }

    // Stores the upper halves as a part, and leaves what they leave.
    WITH_AVX512 static void split_off(__m512 *x, __m512i of_x, __m512 *y, __m512i of_y, char *row) {
        const __m512i upper = _mm512_set1_epi32(int(0xffff0000));
        const __m512i part_x = _mm512_and_si512(of_x, upper), part_y = _mm512_and_si512(of_y, upper);
        _mm512_store_si512(row, pairs(part_x, part_y));
        *x = _mm512_sub_ps(*x, _mm512_castsi512_ps(part_x));
        *y = _mm512_sub_ps(*y, _mm512_castsi512_ps(part_y));
    }

    // The upper halves of x in the lower of y, whose own are 0.
    WITH_AVX512 static __m512i pairs(__m512i x, __m512i y) {
        const __m512i upper = _mm512_set4_epi32(0x0f0e0f0e, 0x0b0a0b0a, 0x07060706, 0x03020302);
        return _mm512_mask_shuffle_epi8(y, 0x3333333333333333, x, upper);
    }
};

// All in one: what is inlined may have its instructions.
WITH_AVX512 __attribute__((flatten)) void multiply(const Product &p, TaskParts &parts, const void *next_b, int calls) {
    ProductOfParts<Bf16, Avx512>(p, parts, next_b, calls).run();
}

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
    multiply(p, *parts, next_b, calls);
    return 0;
}

}  // extern "C"
