#include "explain/machine.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

#include <nlohmann/json.hpp>

#include <sys/mman.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernel/cpu.h"
#include "kernel/kept_measurement.h"
#include "explain/peak.h"
#include "kernel/process.h"
#include "kernel/timed_threads.h"

namespace halyard {

namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;

// One pass over n floats, a multiple of 64. The sum keeps the loads alive.
using Pass = float (*)(float *data, size_t n);

float read_plain(float *data, size_t n) {
    float sum[16] = {};
    for (size_t i = 0; i < n; i += 16) {
        for (size_t j = 0; j < 16; j++) {
            sum[j] += data[i + j];
        }
    }
    float all = 0;
    for (float s : sum) {
        all += s;
    }
    return all;
}

float write_plain(float *data, size_t n) {
    std::memset(data, 0, n * sizeof(float));
    return 0;
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) float read_256(float *data, size_t n) {
    __m256 sum[8];
    for (auto &s : sum) {
        s = _mm256_setzero_ps();
    }
    for (size_t i = 0; i < n; i += 64) {
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) {
            sum[j] = _mm256_add_ps(sum[j], _mm256_load_ps(data + i + 8 * j));
        }
    }
    for (int j = 1; j < 8; j++) {
        sum[0] = _mm256_add_ps(sum[0], sum[j]);
    }
    return _mm256_cvtss_f32(sum[0]);
}

__attribute__((target("avx2"))) float write_256(float *data, size_t n) {
    const __m256 zero = _mm256_setzero_ps();
    for (size_t i = 0; i < n; i += 64) {
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) {
            _mm256_store_ps(data + i + 8 * j, zero);
        }
        asm volatile("" ::: "memory");  // or it becomes a memset
    }
    return 0;
}

__attribute__((target("avx512f"))) float read_512(float *data, size_t n) {
    __m512 sum[4];
    for (auto &s : sum) {
        s = _mm512_setzero_ps();
    }
    for (size_t i = 0; i < n; i += 64) {
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++) {
            sum[j] = _mm512_add_ps(sum[j], _mm512_load_ps(data + i + 16 * j));
        }
    }
    for (int j = 1; j < 4; j++) {
        sum[0] = _mm512_add_ps(sum[0], sum[j]);
    }
    return _mm512_cvtss_f32(sum[0]);
}

__attribute__((target("avx512f"))) float write_512(float *data, size_t n) {
    const __m512 zero = _mm512_setzero_ps();
    for (size_t i = 0; i < n; i += 64) {
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++) {
            _mm512_store_ps(data + i + 16 * j, zero);
        }
        asm volatile("" ::: "memory");
    }
    return 0;
}

__attribute__((target("avx2"))) float stream_256(float *data, size_t n) {
    const __m256 zero = _mm256_setzero_ps();
    for (size_t i = 0; i < n; i += 8) {
        _mm256_stream_ps(data + i, zero);
    }
    _mm_sfence();
    return 0;
}

#endif

std::vector<Pass> passes(bool write) {
    std::vector<Pass> all = {write ? write_plain : read_plain};
#if defined(__x86_64__)
    if (cpu().flags.count("avx2")) {
        all.push_back(write ? write_256 : read_256);
    }
    if (cpu().flags.count("avx512f")) {
        all.push_back(write ? write_512 : read_512);
    }
    if (write) {
        all.erase(all.begin());  // memset may store past the caches, which a kernel's stores do not
    }
#endif
    return all;
}

// Short runs, of which the best counts: where others use the machine, some run undisturbed.
constexpr int kRepeats = 30;
constexpr int64_t kBytesARun = int64_t(8) << 20;

double bandwidth(const std::vector<Pass> &passes, int64_t bytes_a_thread, int threads) {
    const size_t n = std::max<size_t>(size_t(bytes_a_thread) / 4 / 64 * 64, 64);
    std::vector<std::unique_ptr<float, void (*)(void *)>> blocks;
    for (int t = 0; t < threads; t++) {
        blocks.emplace_back(static_cast<float *>(std::aligned_alloc(4096, (n * 4 + 4095) / 4096 * 4096)), std::free);
        std::fill_n(blocks.back().get(), n, 1.0f);
    }
    const int64_t rounds = std::max<int64_t>(1, kBytesARun / int64_t(n * 4));
    double best = 0;
    for (const Pass pass : passes) {
        for (int repeat = 0; repeat < kRepeats; repeat++) {
            check_signals();
            std::vector<float> sums(threads);
            const auto one = [&](int t) { sums[t] += pass(blocks[t].get(), n); };
            const double seconds = timed_threads(
                threads,
                [&](int t) {
                    for (int64_t r = 0; r < rounds; r++) {
                        one(t);
                    }
                },
                one);
            best = std::max(best, double(threads) * double(rounds) * double(n) * 4 / seconds);
        }
    }
    return best;
}

// A chain of integer additions takes a cycle each.
double measure_hertz() {
    double best = 0;
    for (int repeat = 0; repeat < 200; repeat++) {
        constexpr int64_t kRounds = 20000;
        uint64_t a = uint64_t(repeat), one = 1;
        const auto begin = Clock::now();
        for (int64_t r = 0; r < kRounds; r++) {
#pragma GCC unroll 16
            for (int i = 0; i < 16; i++) {
#if defined(__x86_64__)
                asm volatile("add %1, %0" : "+r"(a) : "r"(one));
#else
                a += one;
                asm volatile("" : "+r"(a));
#endif
            }
        }
        best = std::max(best, 16.0 * kRounds / std::chrono::duration<double>(Clock::now() - begin).count());
    }
    return best;
}

// What malloc does with a large block: a mapping of its own, whose pages come with their first touch.
double measure_page() {
    constexpr size_t kPages = 512, kPage = 4096;
    double best = 1;
    for (int repeat = 0; repeat < 20; repeat++) {
        const auto begin = Clock::now();
        void *const mapped = mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED) {
            return 0;
        }
        char *const block = static_cast<char *>(mapped);
        for (size_t i = 0; i < kPages; i++) {
            *static_cast<volatile char *>(block + i * kPage) = 1;
        }
        munmap(mapped, kPages * kPage);
        best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count() / kPages);
    }
    return best;
}

Machine measure(int threads) {
    const Cpu &c = cpu();
    Machine m;
    m.threads = threads;
    const auto add = [&](const char *name, int64_t bytes, int64_t set) {
        const double read = bandwidth(passes(false), set, threads), written = bandwidth(passes(true), set, threads);
        m.levels.push_back({name, bytes, read, written});
    };
    add("L1", c.l1 > 0 ? c.l1 : 32 << 10, (c.l1 > 0 ? c.l1 : 32 << 10) / 2);
    if (c.l2 > 0) {
        add("L2", c.l2, c.l2 / 2);
    }
    if (c.l3 > 0) {
        add("L3", c.l3, std::max(c.l3 / 2 / threads, 2 * c.l2));
    }
    const int64_t large = std::max<int64_t>(4 * c.last_level(), int64_t(64) << 20) / threads;
    add("DRAM", 0, large);
    m.streamed = m.levels.back().written;
#if defined(__x86_64__)
    if (c.flags.count("avx2")) {
        m.streamed = bandwidth({stream_256}, large, threads);
    }
#endif
    m.hertz = measure_hertz();
    m.page_seconds = measure_page();
    m.bf16 = measure_bf16_products(threads);
    m.bytes = measure_byte_products(threads);
    return m;
}

}  // namespace

const MemoryLevel &Machine::level(const std::string &name) const {
    for (const auto &l : levels) {
        if (l.name == name) {
            return l;
        }
    }
    return levels.back();
}

nlohmann::json to_json(const Machine &m) {
    json levels = json::array();
    for (const auto &l : m.levels) {
        levels.push_back({{"name", l.name}, {"bytes", l.bytes}, {"read", l.read}, {"written", l.written}});
    }
    return {{"levels", levels},
            {"hertz", m.hertz},
            {"page_seconds", m.page_seconds},
            {"streamed", m.streamed},
            {"bf16", {{"lanes", m.bf16.dots}, {"tiles", m.bf16.tiles}}},
            {"bytes", {{"lanes", m.bytes.dots}, {"tiles", m.bytes.tiles}}},
            {"flops", m.flops},
            {"threads", m.threads}};
}

Machine machine_from_json(const nlohmann::json &j) {
    Machine m;
    for (const auto &l : j.at("levels")) {
        m.levels.push_back({l.at("name"), l.at("bytes"), l.at("read"), l.at("written")});
    }
    j.at("hertz").get_to(m.hertz);
    j.at("streamed").get_to(m.streamed);
    j.at("page_seconds").get_to(m.page_seconds);
    // "dots" were measured in memory.
    m.bf16 = {j.at("bf16").at("lanes"), j.at("bf16").at("tiles")};
    m.bytes = {j.at("bytes").at("lanes"), j.at("bytes").at("tiles")};
    m.flops = j.value("flops", 0.0);
    m.threads = j.value("threads", 1);
    return m;
}

Machine measured_machine(int threads, bool again) {
    const char *const file = "machine.json";
    const json kept = again ? json() : kept_measurement(file, threads);
    Machine m;
    if (!kept.is_null()) {
        try {
            m = machine_from_json(kept);
        } catch (const json::exception &) {
            m = Machine();  // written by another version
        }
    }
    if (m.levels.empty()) {
        m = measure(threads);
        keep_measurement(file, threads, to_json(m));
    }
    m.threads = threads;
    m.flops = machine_peak(threads, again).flops;
    return m;
}

}  // namespace halyard
