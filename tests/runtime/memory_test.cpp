// The memory of the runtime, asked for as a library asks for it.
#include <catch2/catch.hpp>

#include <sys/resource.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include <HalideRuntime.h>
#include <halyard/runtime.h>

namespace {

constexpr size_t kKept = 32 << 20;  // the default

long page_faults() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

// A block whose pages are all there.
void *touched(size_t bytes) {
    void *block = halide_malloc(nullptr, bytes);
    REQUIRE(block != nullptr);
    memset(block, 1, bytes);
    return block;
}

// Faults of calls that need one large block each. Where malloc would have one from the system every time.
long faults_of_calls(size_t bytes) {
    halide_free(nullptr, touched(bytes));
    const long before = page_faults();
    for (int call = 0; call < 20; call++) {
        halide_free(nullptr, touched(bytes));
    }
    return page_faults() - before;
}

}  // namespace

TEST_CASE("blocks are aligned, and 8 bytes on both sides may be read") {
    std::vector<char *> blocks;
    for (size_t bytes : {0, 1, 120, 128, 4095, 4096, 100000, 5000000}) {
        auto *block = static_cast<char *>(halide_malloc(nullptr, bytes));
        REQUIRE(block != nullptr);
        CHECK(reinterpret_cast<uintptr_t>(block) % 128 == 0);
        volatile char sum = 0;
        for (int i = 1; i <= 8; i++) {
            sum = char(sum + block[-i] + block[bytes + size_t(i) - 1]);
        }
        memset(block, 1, bytes);
        blocks.push_back(block);
    }
    for (char *block : blocks) {
        halide_free(nullptr, block);
    }
    halide_free(nullptr, nullptr);
}

TEST_CASE("what cannot be had is null") {
    CHECK(halide_malloc(nullptr, SIZE_MAX) == nullptr);
    CHECK(halide_malloc(nullptr, SIZE_MAX - 200) == nullptr);
    CHECK(halide_malloc(nullptr, SIZE_MAX / 2) == nullptr);
}

#if !defined(__SANITIZE_ADDRESS__)

TEST_CASE("a freed block is the thread's next one of that size") {
    void *large = halide_malloc(nullptr, 1 << 20), *small = halide_malloc(nullptr, 1 << 16);
    halide_free(nullptr, large);
    halide_free(nullptr, small);
    CHECK(halide_malloc(nullptr, 1 << 16) == small);
    CHECK(halide_malloc(nullptr, (1 << 20) - 5000) == large);
    // Not one that is much too large.
    halide_free(nullptr, large);
    void *other = halide_malloc(nullptr, 1 << 18);
    CHECK(other != large);
    halide_free(nullptr, other);
    halide_free(nullptr, small);
}

TEST_CASE("calls take no new pages, of as much as is kept") {
    CHECK(faults_of_calls(8 << 20) < 20);
    halyard_set_kept_bytes(4 << 20);
    CHECK(faults_of_calls(64 << 20) > 20 * 16);  // more where pages are not huge
    CHECK(faults_of_calls(2 << 20) < 20);
    halyard_set_kept_bytes(kKept);
}

TEST_CASE("the oldest blocks go where there are too many, or too large ones") {
    std::vector<void *> blocks;
    for (int i = 0; i < 100; i++) {
        blocks.push_back(touched(1000));
    }
    for (void *block : blocks) {
        halide_free(nullptr, block);
    }
    CHECK(halide_malloc(nullptr, 1000) == blocks.back());
    halide_free(nullptr, blocks.back());
    void *large = touched(kKept - (1 << 20));
    void *medium = touched(4 << 20);
    halide_free(nullptr, medium);
    halide_free(nullptr, large);
    CHECK(halide_malloc(nullptr, kKept - (1 << 20)) == large);
    halide_free(nullptr, large);
}

#endif

TEST_CASE("a block may be freed by another thread, which gives back what it keeps when it ends") {
    for (int round = 0; round < 200; round++) {
        void *block = touched(8 << 20);
        std::thread([block] {
            halide_free(nullptr, block);
            halide_free(nullptr, touched(8 << 20));
        }).join();
    }
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    CHECK(usage.ru_maxrss < 400 * 1024);  // KiB
}
