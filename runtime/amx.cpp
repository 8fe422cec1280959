// Matrix products by AMX (Sapphire Rapids and later), and by plain loops where there is none or
// the system does not let the program use it.

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "HalideRuntime.h"
#include "mma.h"

using namespace halyard_mma;

namespace {

// Linux gives a program the 8 KiB of tile state only when it asks.
bool ask_for_tiles() {
    constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24, kInt8 = 1u << 25, kAll = kBf16 | kTile | kInt8;
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & kAll) != kAll) {
        return false;
    }
    constexpr int kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// Asked once; threads that ask at the same time get the same answer.
bool have_tiles() {
    static int answer = 0;
    int have = __atomic_load_n(&answer, __ATOMIC_RELAXED);
    if (have == 0) {
        have = ask_for_tiles() ? 1 : -1;
        __atomic_store_n(&answer, have, __ATOMIC_RELAXED);
    }
    return have > 0;
}

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

#define TILES(name, instruction)                                                                             \
    struct name : AmxTiles {                                                                                 \
        template<int C, int A, int B>                                                                        \
        static void multiply() {                                                                             \
            asm volatile(instruction " %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));              \
        }                                                                                                    \
    }
TILES(Bf16, "tdpbf16ps");
TILES(U8S8, "tdpbusd");
TILES(S8S8, "tdpbssd");
#undef TILES

float widen(uint16_t bf16) {
    const uint32_t bits = uint32_t(bf16) << 16;
    float f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

int32_t widen(uint8_t v) {
    return v;
}

int32_t widen(int8_t v) {
    return v;
}

template<typename C, typename A, typename B>
void plain(const Product &p) {
    constexpr int kGroup = 4 / sizeof(A);
    for (int r = 0; r < p.rows; r++) {
        C *c = static_cast<C *>(p.c.at(r, 0));
        if (p.fresh) {
            memset(c, 0, sizeof(C) * size_t(p.cols));
        }
        for (int g = 0; g < p.groups; g++) {
            const A *a = static_cast<const A *>(p.a.at(r, g));
            const B *b = static_cast<const B *>(p.b.at(g, 0));
            for (int i = 0; i < p.cols; i++) {
                for (int m = 0; m < kGroup; m++) {
                    c[i] += widen(a[m]) * widen(b[i * kGroup + m]);
                }
            }
        }
    }
}

// A buffer, where to start in it, and from row to row (of b: from group to group), in elements; of what is touched
// afterwards in bytes, with the bytes of a row.
#define MATRICES                                                                                             \
    void *c, int c_start, int c_stride, const void *a, int a_start, int a_stride, const void *b, int b_start, \
        int b_stride, int rows, int cols, int groups, int fresh, const void *w, int64_t w_start,              \
        int64_t w_stride, int w_rows, int w_bytes, const void *r, int64_t r_start, int64_t r_stride,          \
        int r_rows, int r_bytes
#define MATRIX_VALUES c, c_start, c_stride, a, a_start, a_stride, b, b_start, b_stride, rows, cols, groups, \
    fresh, w, w_start, w_stride, w_rows, w_bytes, r, r_start, r_stride, r_rows, r_bytes

Rows touched(const void *data, int64_t start, int64_t stride, int rows, int bytes) {
    return {static_cast<const char *>(data) + start, stride, data ? rows : 0, bytes};
}

template<typename Tiles, typename C, typename A, typename B>
int run(MATRICES) {
    const Product p = {{static_cast<C *>(c) + c_start, c_stride * ptrdiff_t(sizeof(C))},
                       {static_cast<const A *>(a) + a_start, a_stride * ptrdiff_t(sizeof(A))},
                       {static_cast<const B *>(b) + b_start, b_stride * ptrdiff_t(sizeof(B))},
                       rows, cols, groups, fresh != 0, touched(w, w_start, w_stride, w_rows, w_bytes),
                       touched(r, r_start, r_stride, r_rows, r_bytes)};
    if (have_tiles()) {
        multiply<Tiles>(p);
    } else {
        plain<C, A, B>(p);
    }
    return 0;
}

int (*custom_can_use)(int, const uint64_t *) = nullptr;

}  // namespace

extern "C" {

// Around what multiplies, on each thread.
int halyard_mma_begin() {
    if (have_tiles()) {
        AmxTiles::configure(whole_tiles());
    }
    return 0;
}

int halyard_mma_end() {
    if (have_tiles()) {
        AmxTiles::release();
    }
    return 0;
}

int halyard_mma_bf16(MATRICES) {
    return run<Bf16, float, uint16_t, uint16_t>(MATRIX_VALUES);
}

int halyard_mma_u8s8(MATRICES) {
    return run<U8S8, int32_t, uint8_t, int8_t>(MATRIX_VALUES);
}

int halyard_mma_s8s8(MATRICES) {
    return run<S8S8, int32_t, int8_t, int8_t>(MATRIX_VALUES);
}

// Halide asks this before it calls the code of a level. Its own answer says what the processor has;
// whether the system lets the program use tiles is for us to ask.
int halide_can_use_target_features(int count, const uint64_t *features) {
    const int level = halide_target_feature_avx512_sapphirerapids;
    if (custom_can_use) {
        return custom_can_use(count, features);
    }
    if (count > level / 64 && (features[level / 64] >> (level % 64) & 1) && !have_tiles()) {
        return 0;
    }
    return halide_default_can_use_target_features(count, features);
}

halide_can_use_target_features_t halide_set_custom_can_use_target_features(halide_can_use_target_features_t f) {
    const halide_can_use_target_features_t before =
        custom_can_use ? custom_can_use : halide_default_can_use_target_features;
    custom_can_use = f == halide_default_can_use_target_features ? nullptr : f;
    return before;
}

}  // extern "C"
