#ifndef HALYARD_AMX_TILES_H
#define HALYARD_AMX_TILES_H

/** \file
 * The tile instructions of AMX (Sapphire Rapids and later) as mma.h wants them, and what compiled code calls products with.
 */

#include "mma.h"

namespace halyard_mma {

/** Whether the processor has tiles and the system lets the program use them. */
bool have_tiles();

/** What the thread keeps of operands of float32 is of no use from here on. */
void forget_parts();

// GCC's intrinsics are macros that want digits for the registers.
struct AmxTiles {
    static void configure(const TileConfig &config) {
        asm volatile("ldtilecfg %0" ::"m"(config));
    }
    static void release() {
        asm volatile("tilerelease");
    }
    template<int Tile>
    static void load(const void *data, ptrdiff_t stride) {
        asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(data), "r"(stride), "i"(Tile) : "memory");
    }
    template<int Tile>
    static void zero() {
        asm volatile("tilezero %%tmm%c0" ::"i"(Tile));
    }
    template<bool kWrite>
    static void prefetch(const void *data) {
        __builtin_prefetch(data, kWrite ? 1 : 0, 3);
    }
    template<int Tile>
    static void store(void *data, ptrdiff_t stride) {
        asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(data), "r"(stride), "i"(Tile) : "memory");
    }
};

#define TILES(name, instruction)                                                                                                           \
    struct name : AmxTiles {                                                                                                               \
        template<int C, int A, int B>                                                                                                      \
        static void multiply() {                                                                                                           \
            asm volatile(instruction " %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));                                            \
        }                                                                                                                                  \
    }
TILES(Bf16, "tdpbf16ps");
TILES(U8S8, "tdpbusd");
TILES(S8S8, "tdpbssd");
#undef TILES

// A buffer, where to start in it, and from row to row (of b: from group to group), in elements; of what is touched
// afterwards in bytes, with the bytes of a row; of the loops around the groups the taps, and what a and b grow by, in elements;
// lines of rows, and what a and c grow by.
#define MATRICES                                                                                                                           \
    void *c, int c_start, int c_stride, const void *a, int a_start, int a_stride, const void *b, int b_start, int b_stride, int rows,      \
        int cols, int groups, int fresh, const void *w, int64_t w_start, int64_t w_stride, int w_rows, int w_bytes, const void *r,         \
        int64_t r_start, int64_t r_stride, int r_rows, int r_bytes, int outer, int outer_a, int outer_b, int inner, int inner_a,           \
        int inner_b, int lines, int lines_a, int lines_c
#define MATRIX_VALUES                                                                                                                      \
    c, c_start, c_stride, a, a_start, a_stride, b, b_start, b_stride, rows, cols, groups, fresh, w, w_start, w_stride, w_rows, w_bytes, r, \
        r_start, r_stride, r_rows, r_bytes, outer, outer_a, outer_b, inner, inner_a, inner_b, lines, lines_a, lines_c

inline Rows touched(const void *data, int64_t start, int64_t stride, int rows, int bytes) {
    return {static_cast<const char *>(data) + start, stride, data ? rows : 0, bytes};
}

template<typename C, typename A, typename B>
Product product(MATRICES) {
    return {{static_cast<C *>(c) + c_start, c_stride * ptrdiff_t(sizeof(C))},
            {static_cast<const A *>(a) + a_start, a_stride * ptrdiff_t(sizeof(A))},
            {static_cast<const B *>(b) + b_start, b_stride * ptrdiff_t(sizeof(B))},
            rows,
            cols,
            groups,
            fresh != 0,
            touched(w, w_start, w_stride, w_rows, w_bytes),
            touched(r, r_start, r_stride, r_rows, r_bytes),
            {outer, outer_a * ptrdiff_t(sizeof(A)), outer_b * ptrdiff_t(sizeof(B))},
            {inner, inner_a * ptrdiff_t(sizeof(A)), inner_b * ptrdiff_t(sizeof(B))},
            {lines, lines_a * ptrdiff_t(sizeof(A)), lines_c * ptrdiff_t(sizeof(C))}};
}

}  // namespace halyard_mma

#endif
