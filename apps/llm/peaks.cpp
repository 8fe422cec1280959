#include "peaks.h"

#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

namespace halyard_llm {

namespace {

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/** Work a second: the best of so many runs. */
template<typename Run>
double best(int runs, double work, const Run &run) {
    double most = 0;
    for (int i = 0; i < runs; i++) {
        const double begin = now();
        run();
        most = std::max(most, work / (now() - begin));
    }
    return most;
}

// A line: the compiler takes as many registers for one as the function's target needs.
typedef uint64_t Words __attribute__((vector_size(64)));

__attribute__((always_inline)) inline uint64_t sum_of(const uint8_t *data, size_t bytes) {
    constexpr int kSums = 4;
    Words sums[kSums] = {};
    for (size_t at = 0; at + sizeof(sums) <= bytes; at += sizeof(sums)) {
        for (int i = 0; i < kSums; i++) {
            Words line;
            std::memcpy(&line, data + at + size_t(i) * sizeof(Words), sizeof(Words));
            sums[i] += line;
        }
    }
    const Words sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    return sum[0] ^ sum[1] ^ sum[2] ^ sum[3] ^ sum[4] ^ sum[5] ^ sum[6] ^ sum[7];
}

__attribute__((target("avx512f"))) uint64_t sum_avx512(const uint8_t *data, size_t bytes) {
    return sum_of(data, bytes);
}
__attribute__((target("avx2"))) uint64_t sum_avx2(const uint8_t *data, size_t bytes) {
    return sum_of(data, bytes);
}

// Of each kind, so many sums that wait for nothing but themselves: enough to hide how long one takes.
constexpr int kSteps = 1 << 14, kSums = 12, kRuns = 40;

__attribute__((target("avx512f"))) void floats_avx512() {
    __m512 sums[kSums] = {};
    const __m512 by = _mm512_set1_ps(0.5f);
    for (int step = 0; step < kSteps; step++) {
        for (__m512 &sum : sums) {
            sum = _mm512_fmadd_ps(sum, by, by);
            __asm__ volatile("" : "+v"(sum));
        }
    }
}

__attribute__((target("avx2,fma"))) void floats_avx2() {
    __m256 sums[kSums] = {};
    const __m256 by = _mm256_set1_ps(0.5f);
    for (int step = 0; step < kSteps; step++) {
        for (__m256 &sum : sums) {
            sum = _mm256_fmadd_ps(sum, by, by);
            __asm__ volatile("" : "+x"(sum));
        }
    }
}

__attribute__((target("avx512f,avx512vnni"))) void bytes_vnni() {
    __m512i sums[kSums] = {};
    const __m512i by = _mm512_set1_epi8(1);
    for (int step = 0; step < kSteps; step++) {
        for (__m512i &sum : sums) {
            sum = _mm512_dpbusd_epi32(sum, by, by);
            __asm__ volatile("" : "+v"(sum));
        }
    }
}

// Sums of 16 bits, as the products of 4 bits have them.
__attribute__((target("avx2"))) void bytes_avx2() {
    __m256i sums[kSums] = {};
    __m256i by = _mm256_set1_epi8(1);
    for (int step = 0; step < kSteps; step++) {
        for (__m256i &sum : sums) {
            __asm__ volatile("" : "+x"(by));
            sum = _mm256_adds_epi16(sum, _mm256_maddubs_epi16(by, by));
            __asm__ volatile("" : "+x"(sum));
        }
    }
}

}  // namespace

double read_rate(const std::vector<std::pair<const uint8_t *, size_t>> &arrays, int threads) {
    const auto sum = __builtin_cpu_supports("avx512f") ? sum_avx512 : sum_avx2;
    double bytes = 0;
    for (const auto &[data, size] : arrays) {
        bytes += double(size);
    }
    std::atomic<uint64_t> seen{0};  // so that the reads are not left out
    const auto read = [&](size_t part) {
        for (const auto &[data, size] : arrays) {
            const size_t begin = size * part / size_t(threads), end = size * (part + 1) / size_t(threads);
            seen += sum(data + begin, end - begin);
        }
    };
    return best(12, bytes, [&] {
        std::vector<std::thread> readers;
        for (int t = 1; t < threads; t++) {
            readers.emplace_back(read, size_t(t));
        }
        read(0);
        for (std::thread &reader : readers) {
            reader.join();
        }
    });
}

double float_peak() {
    const bool wide = __builtin_cpu_supports("avx512f");
    return best(kRuns, 2.0 * (wide ? 16 : 8) * kSums * kSteps, wide ? floats_avx512 : floats_avx2);
}

double byte_peak() {
    const bool wide = __builtin_cpu_supports("avx512vnni");
    return best(kRuns, 2.0 * (wide ? 64 : 32) * kSums * kSteps, wide ? bytes_vnni : bytes_avx2);
}

}  // namespace halyard_llm
