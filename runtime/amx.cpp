// Matrix products by AMX (Sapphire Rapids and later), and by plain loops where there is none or
// the system does not let the program use it.

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#include "HalideRuntime.h"
#include "amx_tiles.h"
#include "mma_ahead.h"
#include "mma_plain.h"

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

}  // namespace

namespace halyard_mma {

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

}  // namespace halyard_mma

namespace {

template<typename Tiles, typename C, typename A, typename B>
int run(MATRICES) {
    const Product p = product<C, A, B>(MATRIX_VALUES);
    if (have_tiles()) {
        multiply<Tiles>(p);
    } else {
        multiply_plainly<C, A, B>(p);
    }
    return 0;
}

static_assert(sizeof(Ahead<Bf16>) <= kAheadBytes);

// In the memory of a task: a product of so many groups, the next of which may be begun (mma_ahead.h). Strides in elements.
#define SHAPE int c_stride, int a_stride, int b_stride, int groups, int outer, int outer_a, int outer_b, int inner, int inner_a, int inner_b
#define SHAPE_VALUES c_stride, a_stride, b_stride, groups, outer, outer_a, outer_b, inner, inner_a, inner_b

template<typename Tiles, typename C, typename A, typename B>
int open(void *memory, SHAPE) {
    new (memory) Ahead<Tiles>(product<C, A, B>(nullptr, 0, c_stride, nullptr, 0, a_stride, nullptr, 0, b_stride, 0, 0, groups, 1, nullptr,
                                               0, 0, 0, 0, nullptr, 0, 0, 0, 0, outer, outer_a, outer_b, inner, inner_a, inner_b, 1, 0, 0));
    return 0;
}

#define BLOCK                                                                                                                              \
    void *c, int c_start, const void *a, int a_start, const void *b, int b_start, int rows, int cols, int lines, int lines_a, int lines_c
#define BLOCK_VALUES c, c_start, a, a_start, b, b_start, rows, cols, lines, lines_a, lines_c

template<typename Tiles, typename C, typename A, typename B>
int take(void *memory, BLOCK) {
    auto &ahead = *static_cast<Ahead<Tiles> *>(memory);
    C *const to = static_cast<C *>(c) + c_start;
    const A *const from_a = static_cast<const A *>(a) + a_start;
    const B *const from_b = static_cast<const B *>(b) + b_start;
    const Lines all = {lines, lines_a * ptrdiff_t(sizeof(A)), lines_c * ptrdiff_t(sizeof(C))};
    if (have_tiles()) {
        ahead.take(to, from_a, from_b, rows, cols, all);
    } else {
        multiply_plainly<C, A, B>(ahead.place(to, from_a, from_b, rows, cols, all));
    }
    return 0;
}

template<typename Tiles, typename A, typename B>
int begin(void *memory, int there, const void *a, int a_start, const void *b, int b_start, int rows, int cols, int turns, int pairs) {
    if (there != 0 && have_tiles()) {
        static_cast<Ahead<Tiles> *>(memory)->begin(static_cast<const A *>(a) + a_start, static_cast<const B *>(b) + b_start, rows, cols,
                                                   turns, pairs);
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
        forget_parts();
    }
    return 0;
}

int halyard_mma_end() {
    if (have_tiles()) {
        AmxTiles::release();
        forget_parts();
    }
    return 0;
}

// Of a type: the whole product; and in the memory of a task open(), and for each block touch() if something is touched after it, take(),
// begin() of the next.
#define PRODUCTS(name, Tiles, C, A, B)                                                                                                     \
    int name(MATRICES) {                                                                                                                   \
        return run<Tiles, C, A, B>(MATRIX_VALUES);                                                                                         \
    }                                                                                                                                      \
    int name##_open(void *memory, SHAPE) {                                                                                                 \
        return open<Tiles, C, A, B>(memory, SHAPE_VALUES);                                                                                 \
    }                                                                                                                                      \
    int name##_touch(void *memory, const void *w, int64_t w_start, int64_t w_stride, int w_rows, int w_bytes, const void *r,               \
                     int64_t r_start, int64_t r_stride, int r_rows, int r_bytes) {                                                         \
        static_cast<Ahead<Tiles> *>(memory)->touch(touched(w, w_start, w_stride, w_rows, w_bytes),                                         \
                                                   touched(r, r_start, r_stride, r_rows, r_bytes));                                        \
        return 0;                                                                                                                          \
    }                                                                                                                                      \
    int name##_take(void *memory, BLOCK) {                                                                                                 \
        return take<Tiles, C, A, B>(memory, BLOCK_VALUES);                                                                                 \
    }                                                                                                                                      \
    int name##_begin(void *memory, int there, const void *a, int a_start, const void *b, int b_start, int rows, int cols, int turns,       \
                     int pairs) {                                                                                                          \
        return begin<Tiles, A, B>(memory, there, a, a_start, b, b_start, rows, cols, turns, pairs);                                        \
    }
PRODUCTS(halyard_mma_bf16, Bf16, float, uint16_t, uint16_t)
PRODUCTS(halyard_mma_u8s8, U8S8, int32_t, uint8_t, int8_t)
PRODUCTS(halyard_mma_s8s8, S8S8, int32_t, int8_t, int8_t)
#undef PRODUCTS

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
    const halide_can_use_target_features_t before = custom_can_use ? custom_can_use : halide_default_can_use_target_features;
    custom_can_use = f == halide_default_can_use_target_features ? nullptr : f;
    return before;
}

}  // extern "C"
