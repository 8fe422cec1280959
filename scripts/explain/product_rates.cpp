#include "explain/product_rates.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernel/cpu.h"
#include "kernel/process.h"
#include "kernel/timed_threads.h"

namespace halyard {

namespace {

// Does so many rounds, and returns how many operations those were.
using Rounds = double (*)(int64_t rounds);

#if defined(__x86_64__)

// Twelve independent sums, as in peak.cpp, each a variable: of an array GCC keeps the elements in memory around an asm.
constexpr int kIndependentSums = 12;

#define DOTS(name, target_name, Sum, dot, constraint, operations)                                                                          \
    __attribute__((target(target_name))) double name(int64_t rounds) {                                                                     \
        Sum a = {}, b = {}, c = {}, d = {}, e = {}, f = {}, g = {}, h = {}, i = {}, j = {}, k = {}, l = {};                                \
        for (int64_t r = 0; r < rounds; r++) {                                                                                             \
            asm volatile(dot "%0\n\t" dot "%1\n\t" dot "%2\n\t" dot "%3\n\t" dot "%4\n\t" dot "%5\n\t" dot "%6\n\t" dot "%7\n\t" dot       \
                             "%8\n\t" dot "%9\n\t" dot "%10\n\t" dot "%11"                                                                 \
                         : constraint(a), constraint(b), constraint(c), constraint(d), constraint(e), constraint(f), constraint(g),        \
                           constraint(h), constraint(i), constraint(j), constraint(k), constraint(l));                                     \
        }                                                                                                                                  \
        return double(operations) * kIndependentSums * double(rounds);                                                                     \
    }

// As text, so that a compiler without the instructions' intrinsics will do, and none folds the sums.
DOTS(bf16_dots_512, "avx512f", __m512, "vdpbf16ps %%zmm30, %%zmm31, ", "+v", 2 * 32)
DOTS(byte_dots_512, "avx512f", __m512i, "vpdpbusd %%zmm30, %%zmm31, ", "+v", 2 * 64)
DOTS(byte_dots_256, "avx2", __m256i, "%{vex%} vpdpbusd %%ymm14, %%ymm15, ", "+x", 2 * 32)
#undef DOTS

// Two by two tiles of sums, with what they load from L1, as runtime/mma.h multiplies.
#define TILES(name, instruction, operations)                                                                                               \
    double name(int64_t rounds) {                                                                                                          \
        struct {                                                                                                                           \
            uint8_t palette = 1, start_row = 0, reserved[14] = {};                                                                         \
            uint16_t row_bytes[16] = {};                                                                                                   \
            uint8_t rows[16] = {};                                                                                                         \
        } config;                                                                                                                          \
        std::fill_n(config.row_bytes, 8, uint16_t(64));                                                                                    \
        std::fill_n(config.rows, 8, uint8_t(16));                                                                                          \
        alignas(64) static const char data[4][1024] = {};                                                                                  \
        const int64_t stride = 64;                                                                                                         \
        asm volatile("ldtilecfg %0" ::"m"(config));                                                                                        \
        for (int64_t r = 0; r < rounds; r++) {                                                                                             \
            asm volatile("tileloadd (%0,%4,1), %%tmm4\n\ttileloadd (%1,%4,1), %%tmm5\n\t"                                                  \
                         "tileloadd (%2,%4,1), %%tmm6\n\t" instruction " %%tmm6, %%tmm4, %%tmm0\n\t" instruction                           \
                         " %%tmm6, %%tmm5, %%tmm2\n\ttileloadd (%3,%4,1), %%tmm7\n\t" instruction                                          \
                         " %%tmm7, %%tmm4, %%tmm1\n\t" instruction " %%tmm7, %%tmm5, %%tmm3" ::"r"(data[0]),                               \
                         "r"(data[1]), "r"(data[2]), "r"(data[3]), "r"(stride)                                                             \
                         : "memory");                                                                                                      \
        }                                                                                                                                  \
        asm volatile("tilerelease");                                                                                                       \
        return 4.0 * (operations) * double(rounds);                                                                                        \
    }

TILES(bf16_tiles, "tdpbf16ps", 2 * 16 * 16 * 32)
TILES(byte_tiles, "tdpbusd", 2 * 16 * 16 * 64)
#undef TILES

#endif

bool has_flag(const char *flag) {
    return cpu().flags.count(flag) > 0;
}

// Many short runs, of which the best counts: where others use the machine, some run undisturbed.
double rate(Rounds multiply, int threads) {
    constexpr int kRepeats = 100;
    double best = 0;
    for (int repeat = 0; repeat < kRepeats; repeat++) {
        check_signals();
        std::vector<double> done(threads);
        const double seconds = timed_threads(threads, [&](int t) { done[t] = multiply(5'000); });
        best = std::max(best, double(threads) * done[0] / seconds);
    }
    return best;
}

}  // namespace

ProductRates measure_bf16_products(int threads) {
    ProductRates r;
#if defined(__x86_64__)
    r.dots = has_flag("avx512_bf16") ? rate(bf16_dots_512, threads) : 0;
    r.tiles = has_flag("amx_bf16") ? rate(bf16_tiles, threads) : 0;
#endif
    return r;
}

ProductRates measure_byte_products(int threads) {
    ProductRates r;
#if defined(__x86_64__)
    r.dots = has_flag("avx512_vnni") ? rate(byte_dots_512, threads) : has_flag("avx_vnni") ? rate(byte_dots_256, threads) : 0;
    r.tiles = has_flag("amx_int8") ? rate(byte_tiles, threads) : 0;
#endif
    return r;
}

}  // namespace halyard
