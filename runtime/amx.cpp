// Matrix products by AMX (Sapphire Rapids and later), and by plain loops where there is none or
// the system does not let the program use it.

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "HalideRuntime.h"
#include "amx_tiles.h"
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
