// What the emulator makes of kernels: right answers of right ones, and every fault found.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>

#include "support.h"

using Catch::Contains;

namespace {

const Image &right() {
    static const Image image("right");
    return image;
}

template<typename T>
struct One {
    halide_buffer_t *y;
};

struct Two {
    halide_buffer_t *y, *x;
};

uint16_t bf16(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    return uint16_t(bits >> 16);
}

// The message of a launch that is to fail.
std::string fault(const char *kernel, int threads, int elements = 64, int blocks = 1) {
    static const Image wrong("wrong");
    std::string message;
    {
        Array<float> x(elements), y(elements);
        const Two arguments = {y.to_device(), x.to_device()};
        const bool takes_x = strstr("outside_global misaligned no_wait waits_for_too_few no_barrier_after_wait", kernel);
        const int error = launch(wrong, kernel, {blocks, threads, 1024}, takes_x ? "bb" : "b", arguments);
        message = error == halide_error_code_device_run_failed ? last_error() : "error " + std::to_string(error);
        x.buffer().device_free();
        y.buffer().device_free();
    }
    halyard_cuda_release();
    return message;
}

}  // namespace

TEST_CASE("a row reduction", "[order]") {
    constexpr int rows = 5, cols = 2048 + 40;
    Array<uint16_t> x(rows * cols);
    Array<float> y(rows);
    std::vector<float> sums(rows);
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < cols; c++) {
            const float v = float((r * 7 + c * 3) % 16);
            x[r * cols + c] = bf16(v);
            sums[r] += v;
        }
    }
    const Two buffers = {y.to_device(), x.to_device()};
    struct {
        Two buffers;
        int cols;
    } arguments = {buffers, cols};
    INFO(last_error());
    REQUIRE(launch(right(), "row_sum", {rows, 128, 128}, "bbi", arguments) == 0);
    REQUIRE(y.to_host() == 0);
    for (int r = 0; r < rows; r++) {
        CHECK(y[r] == sums[r]);
    }
}

TEST_CASE("a transposition through shared memory", "[order]") {
    constexpr int rows = 37, cols = 50;
    Array<uint16_t> x(rows * cols), y(rows * cols);
    for (int i = 0; i < rows * cols; i++) {
        x[i] = uint16_t(i);
    }
    struct {
        halide_buffer_t *y, *x;
        int rows, cols;
    } arguments = {y.to_device(), x.to_device(), rows, cols};
    INFO(last_error());
    REQUIRE(halyard_cuda_launch(nullptr, right(), "transpose", (cols + 15) / 16, (rows + 15) / 16, 1, 16, 16, 1, 16 * 17 * 2, "bbii",
                                &arguments) == 0);
    REQUIRE(y.to_host() == 0);
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < cols; c++) {
            REQUIRE(y[c * rows + r] == r * cols + c);
        }
    }
}

TEST_CASE("copies ahead of their use", "[order]") {
    for (const int tiles : {1, 2, 3, 10}) {
        Array<float> x(tiles * 256), y(tiles * 256);
        for (int i = 0; i < x.size(); i++) {
            x[i] = float(i);
        }
        struct {
            halide_buffer_t *y, *x;
            int tiles;
        } arguments = {y.to_device(), x.to_device(), tiles};
        const int error = launch(right(), "copy_ahead", {1, 64, 3 * 1024}, "bbi", arguments);
        INFO(last_error());
        REQUIRE(error == 0);
        REQUIRE(y.to_host() == 0);
        for (int i = 0; i < x.size(); i++) {
            REQUIRE(y[i] == 2.0f * float(i));
        }
    }
}

TEST_CASE("shuffles and barriers of warps", "[order]") {
    Array<int> x(96), y(96);
    for (int i = 0; i < 96; i++) {
        x[i] = i * i % 11;
    }
    const Two arguments = {y.to_device(), x.to_device()};
    const int error = launch(right(), "scan_warps", {1, 96, 96 * 4}, "bb", arguments);
    INFO(last_error());
    REQUIRE(error == 0);
    REQUIRE(y.to_host() == 0);
    for (int t = 0; t < 96; t++) {
        const int lane = t % 32;
        int sum = 0;
        for (int i = t - lane; i <= t - lane + 31 - lane; i++) {
            sum += x[i];
        }
        REQUIRE(y[t] == sum + (lane < 16 ? 1000 * (15 - lane) : 0));
    }
}

TEST_CASE("votes of warps", "[order]") {
    Array<unsigned> y(64);
    const One<int> arguments = {y.to_device()};
    REQUIRE(launch(right(), "ballots", {1, 64}, "b", arguments) == 0);
    REQUIRE(y.to_host() == 0);
    CHECK(y[0] == 0xaaaaaaaau);
    CHECK(y[63] == (0xaaaaaaaau ^ 2u ^ 8u));
}

TEST_CASE("vectors of registers at any places") {
    Array<float> y(8), x(8);
    for (int i = 0; i < 8; i++) {
        x[i] = float(i + 1);
        y[i] = 0;
    }
    const Two arguments = {y.to_device(), x.to_device()};
    REQUIRE(launch(right(), "backwards", {1, 1, 0}, "bb", arguments) == 0);
    REQUIRE(y.to_host() == 0);
    for (int i = 0; i < 8; i++) {
        CHECK(y[i] == (i < 5 ? float(8 - i) : 0));
    }
}

TEST_CASE("atomics", "[order]") {
    constexpr int n = 3000;
    Array<uint8_t> x(n);
    Array<int> y(256, 0);
    std::vector<int> counts(256);
    for (int i = 0; i < n; i++) {
        x[i] = uint8_t(i * 7 % 31);
        counts[x[i]]++;
    }
    struct {
        halide_buffer_t *y, *x;
        int n;
    } arguments = {y.to_device(), x.to_device(), n};
    const int error = launch(right(), "histogram", {3, 64, 1024}, "bbi", arguments);
    INFO(last_error());
    REQUIRE(error == 0);
    REQUIRE(y.to_host() == 0);
    for (int i = 0; i < 256; i++) {
        REQUIRE(y[i] == counts[i]);
    }
}

TEST_CASE("conversions: every half there and back, ties to even, infinities, NaN") {
    Array<float> halves(65536);
    std::vector<float> inputs = {65519.0f,
                                 65520.0f,
                                 -65520.0f,
                                 1e30f,
                                 INFINITY,
                                 -INFINITY,
                                 NAN,
                                 0.0f,
                                 -0.0f,
                                 0x1p-24f,
                                 0x1p-25f,
                                 0x1.8p-25f,
                                 0x1.8p-24f,
                                 1.0f + 0x1p-11f,
                                 1.0f + 0x1p-11f + 0x1p-20f,
                                 1.0f + 0x3p-11f,
                                 1.0f + 0x1p-8f,
                                 1.0f + 0x3p-8f,
                                 3e38f,
                                 3.4e38f};
    const uint16_t as_half[] = {0x7bff, 0x7c00, 0xfc00, 0x7c00, 0x7c00, 0xfc00, 0x7fff, 0,      0x8000, 1,
                                0,      1,      2,      0x3c00, 0x3c01, 0x3c02, 0x3c04, 0x3c0c, 0x7c00, 0x7c00};
    const uint16_t as_bf16[] = {0x4780, 0x4780, 0xc780, 0x714a, 0x7f80, 0xff80, 0x7fff, 0,      0x8000, 0x3380,
                                0x3300, 0x3340, 0x33c0, 0x3f80, 0x3f80, 0x3f80, 0x3f80, 0x3f82, 0x7f62, 0x7f80};
    const int special = int(inputs.size());
    for (int i = 0; i < 65536; i++) {  // every half, computed otherwise
        const int exponent = i >> 10 & 31, mantissa = i & 1023;
        const float size = exponent == 31 ? (mantissa ? NAN : INFINITY)
                           : exponent     ? std::ldexp(1024.0f + float(mantissa), exponent - 25)
                                          : std::ldexp(float(mantissa), -24);
        inputs.push_back(i & 0x8000 ? -size : size);
    }
    const int n = int(inputs.size());
    Array<float> x(n);
    Array<uint16_t> h(n), b(n);
    for (int i = 0; i < n; i++) {
        x[i] = inputs[i];
    }
    struct {
        halide_buffer_t *f, *h, *b, *x;
        int n;
    } arguments = {halves.to_device(), h.to_device(), b.to_device(), x.to_device(), n};
    REQUIRE(launch(right(), "convert", {(n + 255) / 256, 256}, "bbbbi", arguments) == 0);
    REQUIRE((halves.to_host() || h.to_host() || b.to_host()) == 0);
    for (int i = 0; i < special; i++) {
        INFO(inputs[i]);
        CHECK(h[i] == as_half[i]);
        CHECK(b[i] == as_bf16[i]);
    }
    for (int i = 0; i < 65536; i++) {
        const float f = inputs[special + i];
        if (std::isnan(f)) {
            REQUIRE(std::isnan(halves[i]));
            REQUIRE((h[special + i] & 0x7fff) > 0x7c00);
        } else {
            REQUIRE(halves[i] == f);
            REQUIRE(h[special + i] == i);
        }
    }
}

TEST_CASE("faults: missing barriers", "[order]") {
    const std::string race = fault("no_barrier", 64);
    CHECK_THAT(race, Contains("kernel no_barrier, block (0, 0, 0), thread ("));
    // Before or after the other thread's write, as they happen to run.
    CHECK((race.find("race: reads element") != std::string::npos || race.find("race: writes element") != std::string::npos ||
           race.find("which no thread of the block has written") != std::string::npos));
    CHECK_THAT(race, Contains("of the shared array at byte 64"));
    CHECK_THAT(fault("no_barrier_after_read", 64), Contains("race: ") && Contains("with no barrier since"));
    CHECK_THAT(fault("barrier_of_the_warp", 64), Contains("of the shared array at byte 0"));
    CHECK_THAT(fault("two_write", 64), Contains("race: writes element 0") && Contains("has written with no barrier since"));
    CHECK_THAT(fault("half_atomic", 64), Contains("race: "));
}

TEST_CASE("faults: shared memory that nobody wrote", "[order]") {
    CHECK_THAT(fault("not_written", 64),
               Contains("thread (7, 0, 0): reads element 7 of the shared array at byte 0, which no thread of the block has written"));
    CHECK_THAT(fault("from_the_block_before", 64, 64, 2),
               Contains("block (1, 0, 0)") && Contains("which no thread of the block has written"));
}

// Of buffers that are a part of their allocation.
TEST_CASE("faults: between the rows of the caller's buffer, and behind the last") {
    const auto run = [](int how) {
        static const Image wrong("wrong");
        Array<float> x(48, 2), y(48, 3);
        halide_dimension_t dims[] = {{0, 10, 1}, {0, 3, 16}};
        halide_buffer_t rows[] = {*y.to_device(), *x.to_device()};
        for (auto &b : rows) {
            b.dimensions = 2;
            b.dim = dims;
        }
        const struct {
            halide_buffer_t *y, *x;
            int how;
        } arguments = {&rows[0], &rows[1], how};
        const bool fails = launch(wrong, "beside_rows", {1, 1}, "bbi", arguments) != 0;
        const std::string message = fails ? last_error() : "";
        x.buffer().device_free();
        y.buffer().device_free();
        if (fails) {
            halyard_cuda_release();
        }
        return message;
    };
    CHECK(run(0) == "");
    CHECK_THAT(run(1), Contains("kernel beside_rows, block (0, 0, 0), thread (0, 0, 0): accesses between the elements of an array: "
                                "y, element 10, 4 bytes; at (10, 0) of (10, 3)"));
    CHECK_THAT(run(2), Contains("writes between the elements of an array: y, element 24, 16 bytes; at (10, 1) of (10, 3)"));
    CHECK_THAT(run(3), Contains("accesses outside of an array: y, element 42, 4 bytes; it has the elements 0 to 41"));
    CHECK_THAT(run(4), Contains("reads outside of an array: x, element 40, 16 bytes; it has the elements 0 to 41"));
    CHECK_THAT(run(5), Contains("accesses between the elements of an array: y, element 27, 4 bytes; at (11, 1) of (10, 3)"));
}

TEST_CASE("faults: outside of arrays, and not aligned", "[order]") {
    CHECK_THAT(fault("outside_global", 64),
               Contains("reads outside of an array: x, element -") && Contains("4 bytes; it has the elements 0 to 63"));
    CHECK_THAT(fault("vector_over_the_end", 64, 255), Contains("writes outside of an array: parameter 0, element 252, 16 bytes"));
    CHECK_THAT(fault("outside_shared", 64),
               Contains("thread (63, 0, 0): accesses element 64 of the shared array at byte 16, which has 64 elements"));
    CHECK_THAT(fault("misaligned", 1), Contains("reads 16 bytes at once that are not aligned: parameter 1, element 2"));
    CHECK_THAT(fault("misaligned_shared", 1),
               Contains("accesses 8 bytes at once that are not aligned: element 1 of the shared array at byte 0"));
}

TEST_CASE("faults: threads diverge", "[order]") {
    CHECK_THAT(fault("ends_early", 64),
               Contains("threads diverge: ") && Contains("waits at __syncthreads, which (5, 0, 0), having ended, never reaches"));
    CHECK_THAT(fault("barriers_differ", 64), Contains("threads diverge: ") && Contains("__syncthreads"));
    CHECK_THAT(fault("two_barriers", 64),
               Contains("threads diverge: (0, 0, 0) waits at the barrier of line 113, (40, 0, 0) at the one of line 110; "));
    CHECK_THAT(fault("two_reductions", 64),
               Contains("threads diverge: (0, 0, 0) waits at the barrier of line 123, (32, 0, 0) at the one of line 125; "));
    CHECK_THAT(fault("lane_missing", 32), Contains("threads diverge: ") && Contains("__shfl_xor_sync, which (3, 0, 0), having ended"));
    CHECK_THAT(fault("lane_not_in_mask", 32),
               Contains("__shfl_down_sync with the mask 0x7") || Contains("lane 3, which is not in the mask 0x7"));
}

TEST_CASE("faults: asynchronous copies", "[order]") {
    CHECK_THAT(fault("no_wait", 64, 256), Contains("copies there asynchronously, without a wait"));
    CHECK_THAT(fault("waits_for_too_few", 64, 256), Contains("copies there asynchronously, without a wait"));
    CHECK_THAT(fault("no_barrier_after_wait", 64, 256),
               Contains("race: reads") || Contains("without a wait") || Contains("which no thread"));
}

TEST_CASE("a pointer to nothing") {
    halide_buffer_t nowhere = {};
    nowhere.device = 4096;
    const One<int> arguments = {&nowhere};
    CHECK(launch(right(), "ballots", {1, 64}, "b", arguments) == halide_error_code_device_run_failed);
    CHECK_THAT(last_error(), Contains("kernel ballots") && Contains("parameter 0 is 0x1000, which is in no allocation of the device"));
    halyard_cuda_release();
}
