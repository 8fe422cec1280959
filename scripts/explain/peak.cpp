#include "explain/peak.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include <nlohmann/json.hpp>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernel/cpu.h"
#include "kernel/kept_measurement.h"
#include "kernel/process.h"
#include "kernel/timed_threads.h"

namespace halyard {

namespace {

using nlohmann::json;

using Copy = void (*)(float *to, const float *from, size_t n);

void copy_plain(float *to, const float *from, size_t n) {
    std::memcpy(to, from, n * sizeof(float));
}

double flops_plain(int64_t rounds) {
    volatile float sink = 0;
    float a[32] = {}, b = 0.999f, c = 1e-3f;
    for (int64_t r = 0; r < rounds; r++) {
        for (float &v : a) {
            v = v * b + c;
        }
    }
    for (float v : a) {
        sink = sink + v;
    }
    return 64.0 * double(rounds);
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) void copy_256(float *to, const float *from, size_t n) {
    for (size_t i = 0; i + 32 <= n; i += 32) {
        for (size_t j = 0; j < 32; j += 8) {
            _mm256_store_ps(to + i + j, _mm256_load_ps(from + i + j));
        }
    }
}

// Past the last level of cache a plain store reads the line first; this one does not.
__attribute__((target("avx2"))) void copy_256_stream(float *to, const float *from, size_t n) {
    for (size_t i = 0; i + 32 <= n; i += 32) {
        for (size_t j = 0; j < 32; j += 8) {
            _mm256_stream_ps(to + i + j, _mm256_load_ps(from + i + j));
        }
    }
    _mm_sfence();
}

__attribute__((target("avx512f"))) void copy_512(float *to, const float *from, size_t n) {
    for (size_t i = 0; i + 64 <= n; i += 64) {
        for (size_t j = 0; j < 64; j += 16) {
            _mm512_store_ps(to + i + j, _mm512_load_ps(from + i + j));
        }
    }
}

// Twelve independent sums hide four to five cycles of latency on two ports.
constexpr int kSums = 12;

__attribute__((target("avx2,fma"))) double flops_256(int64_t rounds) {
    __m256 sum[kSums];
    const __m256 b = _mm256_set1_ps(0.999f), c = _mm256_set1_ps(1e-3f);
    for (auto &s : sum) {
        s = c;
    }
    for (int64_t r = 0; r < rounds; r++) {
#pragma GCC unroll 12
        for (int i = 0; i < kSums; i++) {
            sum[i] = _mm256_fmadd_ps(sum[i], b, c);
        }
    }
    for (int i = 1; i < kSums; i++) {
        sum[0] = _mm256_add_ps(sum[0], sum[i]);
    }
    volatile float sink = _mm256_cvtss_f32(sum[0]);
    (void)sink;
    return 2.0 * 8 * kSums * double(rounds);
}

__attribute__((target("avx512f"))) double flops_512(int64_t rounds) {
    __m512 sum[kSums];
    const __m512 b = _mm512_set1_ps(0.999f), c = _mm512_set1_ps(1e-3f);
    for (auto &s : sum) {
        s = c;
    }
    for (int64_t r = 0; r < rounds; r++) {
#pragma GCC unroll 12
        for (int i = 0; i < kSums; i++) {
            sum[i] = _mm512_fmadd_ps(sum[i], b, c);
        }
    }
    for (int i = 1; i < kSums; i++) {
        sum[0] = _mm512_add_ps(sum[0], sum[i]);
    }
    volatile float sink = _mm512_cvtss_f32(sum[0]);
    (void)sink;
    return 2.0 * 16 * kSums * double(rounds);
}

#endif

bool has(const char *flag) {
    return cpu().flags.count(flag) > 0;
}

std::vector<Copy> copies() {
    std::vector<Copy> all = {copy_plain};
#if defined(__x86_64__)
    if (has("avx2")) {
        all.insert(all.end(), {copy_256, copy_256_stream});
    }
    if (has("avx512f")) {
        all.push_back(copy_512);
    }
#endif
    return all;
}

std::vector<double (*)(int64_t)> multipliers() {
    std::vector<double (*)(int64_t)> all = {flops_plain};
#if defined(__x86_64__)
    if (has("avx2") && has("fma")) {
        all.push_back(flops_256);
    }
    if (has("avx512f")) {
        all.push_back(flops_512);
    }
#endif
    return all;
}

// Many short runs, of which the best counts: where others use the machine, some run undisturbed. A last level of cache
// of 300 MB makes the runs long: fewer of them then.
constexpr int kMostRepeats = 40, kLeastRepeats = 5;
constexpr double kSeconds = 1;

double measure_copy(int threads, int64_t working_set) {
    const size_t n = std::max<size_t>(size_t(working_set) / 8 / threads / 64 * 64, 64);  // floats a thread and side
    std::vector<std::unique_ptr<float, void (*)(void *)>> blocks;
    for (int t = 0; t < threads; t++) {
        blocks.emplace_back(static_cast<float *>(std::aligned_alloc(4096, (2 * n * 4 + 4095) / 4096 * 4096)), std::free);
        std::fill_n(blocks.back().get(), 2 * n, 1.0f);
    }
    const int64_t passes = std::max<int64_t>(1, (int64_t(32) << 20) / int64_t(n * 8) / threads);
    double best = 0;
    for (const Copy copy : copies()) {
        double spent = 0;
        for (int repeat = 0; repeat < kLeastRepeats || (repeat < kMostRepeats && spent < kSeconds); repeat++) {
            check_signals();
            const double seconds = timed_threads(threads, [&](int t) {
                for (int64_t p = 0; p < passes; p++) {
                    copy(blocks[t].get() + n, blocks[t].get(), n);
                }
            });
            best = std::max(best, double(threads) * double(passes) * double(n) * 8 / seconds);
            spent += seconds;
        }
    }
    return best;
}

double measure_flops(int threads) {
    double best = 0;
    for (const auto multiply : multipliers()) {
        for (int repeat = 0; repeat < 5 * kMostRepeats; repeat++) {
            check_signals();
            std::vector<double> done(threads);
            const double seconds = timed_threads(threads, [&](int t) { done[t] = multiply(30'000); });
            best = std::max(best, double(threads) * done[0] / seconds);
        }
    }
    return best;
}

Peak measure_peak(int threads) {
    const Cpu &c = cpu();
    std::vector<int64_t> sets;
    for (const int64_t level : {c.l1 * threads, c.l2 * threads, c.l3}) {
        if (level > 0 && (sets.empty() || level / 2 > sets.back())) {
            sets.push_back(level / 2);
        }
    }
    sets.push_back(std::max<int64_t>(4 * c.last_level(), int64_t(64) << 20));
    Peak peak;
    for (const int64_t set : sets) {
        peak.copy.emplace_back(set, measure_copy(threads, set));
    }
    peak.flops = measure_flops(threads);
    return peak;
}

}  // namespace

double Peak::bandwidth(int64_t bytes) const {
    for (const auto &c : copy) {
        if (bytes <= c.first) {
            return c.second;
        }
    }
    return memory_bandwidth();
}

Peak machine_peak(int threads, bool again) {
    const char *const file = "peaks.json";
    const json kept = again ? json() : kept_measurement(file, threads);
    Peak peak;
    if (!kept.is_null()) {
        try {
            kept.at("copy").get_to(peak.copy);
            kept.at("flops").get_to(peak.flops);
            if (!peak.copy.empty() && peak.flops > 0) {
                return peak;
            }
        } catch (const json::exception &) {
            // Written by another version; measure again.
        }
    }
    peak = measure_peak(threads);
    keep_measurement(file, threads, {{"copy", peak.copy}, {"flops", peak.flops}});
    return peak;
}

}  // namespace halyard
