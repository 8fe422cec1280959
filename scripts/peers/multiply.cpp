#include "peers/multiply.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "kernel/cpu.h"
#include "kernel/timed_threads.h"

namespace halyard {

namespace {

using Multiply = double (*)(int64_t rounds);  // returns operations

#if defined(__x86_64__)

constexpr int kSums = 12;  // hides the latency of two ports

// The instruction multiplies bf16 in pairs, or bytes in groups of four; the sums lie as integers either way.
template<bool kBytes>
__attribute__((target("avx512f,avx512bf16,avx512vnni"))) double vectors(int64_t rounds) {
    __m512i sum[kSums];
    for (auto &s : sum) {
        s = _mm512_set1_epi32(0x3a83126f);  // 1e-3 in f32
    }
    __m512i a = _mm512_set1_epi32(kBytes ? 0x01010101 : 0x3c003c00), b = a;
    for (int64_t r = 0; r < rounds; r++) {
#pragma GCC unroll 12
        for (int i = 0; i < kSums; i++) {
            sum[i] = kBytes ? _mm512_dpbusd_epi32(sum[i], a, b)
                            : _mm512_castps_si512(_mm512_dpbf16_ps(_mm512_castsi512_ps(sum[i]), (__m512bh)a, (__m512bh)b));
        }
        asm volatile("" : "+v"(a), "+v"(b));
    }
    for (int i = 1; i < kSums; i++) {
        sum[0] = _mm512_add_epi32(sum[0], sum[i]);
    }
    volatile int sink = _mm512_cvtsi512_si32(sum[0]);
    (void)sink;
    return 2.0 * (kBytes ? 64 : 32) * kSums * double(rounds);
}

// The kernel lends the tile registers only to a process that asks.
bool tiles_allowed() {
    constexpr int kRequestPermission = 0x1023, kTileData = 18;
    static const bool allowed = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
    return allowed;
}

struct TileConfig {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Four accumulators, two tiles of each operand: the form that a matrix product has.
template<bool kBytes>
__attribute__((target("amx-tile,amx-bf16,amx-int8"))) double tiles(int64_t rounds) {
    const TileConfig config;
    asm volatile("ldtilecfg %0" ::"m"(config));  // GCC 12 takes _tile_loadconfig for a read of 8 bytes, and drops the others
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    _tile_zero(6);
    _tile_zero(7);
    for (int64_t r = 0; r < rounds; r++) {
        if constexpr (kBytes) {
            _tile_dpbusd(0, 4, 6);
            _tile_dpbusd(1, 4, 7);
            _tile_dpbusd(2, 5, 6);
            _tile_dpbusd(3, 5, 7);
        } else {
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 7);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
    }
    _tile_release();
    return 4 * 2.0 * 16 * 16 * (kBytes ? 64 : 32) * double(rounds);
}

std::vector<Multiply> multipliers(const std::string &type) {
    const auto has = [](const char *flag) { return cpu().flags.count(flag) > 0; };
    std::vector<Multiply> all;
    if (type == "bf16") {
        if (has("avx512_bf16")) {
            all.push_back(vectors<false>);
        }
        if (has("amx_bf16") && tiles_allowed()) {
            all.push_back(tiles<false>);
        }
    } else if (type == "int8") {
        if (has("avx512_vnni")) {
            all.push_back(vectors<true>);
        }
        if (has("amx_int8") && tiles_allowed()) {
            all.push_back(tiles<true>);
        }
    }
    return all;
}

#else

std::vector<Multiply> multipliers(const std::string &) {
    return {};
}

#endif

}  // namespace

double multiply_peak(const std::string &type, int threads) {
    double best = 0;
    for (const Multiply multiply : multipliers(type)) {
        for (int repeat = 0; repeat < 100; repeat++) {  // some run undisturbed
            std::vector<double> done(threads);
            const double seconds = timed_threads(threads, [&](int t) { done[t] = multiply(20'000); });
            best = std::max(best, threads * done[0] / seconds);
        }
    }
    return best;
}

}  // namespace halyard
