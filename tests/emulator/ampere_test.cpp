// What kernels for sm_80 stand on: right products, and every fault found and named.
#include <catch2/catch.hpp>

#include <cstring>

#include "elements.h"
#include "support.h"

using Catch::Contains;

namespace {

const Image &ampere() {
    static const Image image("ampere");
    return image;
}

constexpr int kRows = 32, kColumns = 64;  // of a tile

// Rows of a multiple of 8 elements, with NaN behind them.
void fill(Array<uint16_t> &x, int rows, int cols, int stride, int seed, bool bf16) {
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < cols; c++) {
            x[r * stride + c] = bits_of(element(r, c, seed), bf16);
        }
    }
}

// "" where y = a b came out; what is beyond m and n is 0.
std::string product(const char *kernel, int m, int n, int k, int fault = 0) {
    const bool bf16 = strstr(kernel, "bfloat16") != nullptr, across = strstr(kernel, "_kn_") != nullptr;
    const int b_rows = across ? k : n, b_cols = across ? n : k;
    const int a_stride = (k + 7) / 8 * 8, b_stride = (b_cols + 7) / 8 * 8;
    Array<uint16_t> a(m * a_stride, 0x7fff), b(b_rows * b_stride, 0x7fff);
    Array<float> y(kRows * kColumns);
    fill(a, m, k, a_stride, 1, bf16);
    fill(b, b_rows, b_cols, b_stride, 2, bf16);
    const struct {
        halide_buffer_t *y, *a, *b;
        int m, n, k, a_stride, b_stride, fault;
    } arguments = {y.to_device(), a.to_device(), b.to_device(), m, n, k, a_stride, b_stride, fault};
    if (launch(ampere(), kernel, {1, 128, 12416}, "bbbiiiiii", arguments) != 0) {
        const std::string message = last_error();
        y.buffer().device_free();
        a.buffer().device_free();
        b.buffer().device_free();
        halyard_cuda_release();
        return message;
    }
    y.to_host();
    for (int r = 0; r < kRows; r++) {
        for (int c = 0; c < kColumns; c++) {
            int sum = 0;
            for (int i = 0; i < k && r < m && c < n; i++) {
                sum += element(r, i, 1) * (across ? element(i, c, 2) : element(c, i, 2));
            }
            if (y[r * kColumns + c] != float(sum)) {
                return "wrong at " + std::to_string(r) + ", " + std::to_string(c);
            }
        }
    }
    return "";
}

// The same of bytes, b with neighbours along k; behind rows there are others.
std::string product_of_bytes(const char *kernel, int m, int n, int k) {
    const bool signed_a = kernel[8] == 's', signed_b = kernel[11] == 's';
    const int stride = (k + 15) / 16 * 16;
    Array<uint8_t> a(m * stride, 0x5a), b(n * stride, 0x5a);
    Array<int> y(kRows * kColumns);
    for (int i = 0; i < k; i++) {
        for (int r = 0; r < m; r++) {
            a[r * stride + i] = uint8_t(byte_element(r, i, 1, signed_a));
        }
        for (int c = 0; c < n; c++) {
            b[c * stride + i] = uint8_t(byte_element(c, i, 2, signed_b));
        }
    }
    const struct {
        halide_buffer_t *y, *a, *b;
        int m, n, k, a_stride, b_stride, fault;
    } arguments = {y.to_device(), a.to_device(), b.to_device(), m, n, k, stride, stride, 0};
    if (launch(ampere(), kernel, {1, 128, 12416}, "bbbiiiiii", arguments) != 0) {
        return last_error();
    }
    y.to_host();
    for (int r = 0; r < kRows; r++) {
        for (int c = 0; c < kColumns; c++) {
            int sum = 0;
            for (int i = 0; i < k && r < m && c < n; i++) {
                sum += byte_element(r, i, 1, signed_a) * byte_element(c, i, 2, signed_b);
            }
            if (y[r * kColumns + c] != sum) {
                return "wrong at " + std::to_string(r) + ", " + std::to_string(c);
            }
        }
    }
    return "";
}

// The order of the enumeration in ampere_kernels.cpp.
enum Fault {
    kNone,
    kNoWait,
    kNoBarrier,
    kRefillsTooEarly,
    kLaneWithoutLoad,
    kWarpInTwoMinds,
    kLineNotAligned,
    kReadsUnwritten,
    kNotAligned,
};

std::string fault(int which) {
    return product("product_kn_half", kRows, kColumns, 100, which);
}

}  // namespace

TEST_CASE("products by warps", "[order]") {
    for (const char *kernel : {"product_kn_half", "product_nk_half", "product_kn_bfloat16", "product_nk_bfloat16"}) {
        INFO(kernel);
        CHECK(product(kernel, kRows, kColumns, 32) == "");
        CHECK(product(kernel, kRows, kColumns, 160) == "");
        CHECK(product(kernel, 1, 1, 1) == "");
        CHECK(product(kernel, 31, 57, 67) == "");
        CHECK(product(kernel, 9, 8, 20) == "");
    }
}

TEST_CASE("products of bytes by warps", "[order]") {
    for (const char *kernel : {"product_s8_s8", "product_s8_u8", "product_u8_s8", "product_u8_u8"}) {
        INFO(kernel);
        CHECK(product_of_bytes(kernel, kRows, kColumns, 64) == "");
        CHECK(product_of_bytes(kernel, 31, 57, 175) == "");
        CHECK(product_of_bytes(kernel, 1, 1, 1) == "");
    }
}

TEST_CASE("faults: products by warps") {
    CHECK_THAT(fault(kNoWait), Contains("copies there asynchronously, without a wait"));
    CHECK_THAT(fault(kNoBarrier), Contains("race: ") || Contains("copies there asynchronously, without a wait"));
    CHECK_THAT(fault(kRefillsTooEarly), Contains("race: writes") && Contains("has read"));
    CHECK_THAT(fault(kLaneWithoutLoad), Contains("ldmatrix"));
    CHECK_THAT(fault(kWarpInTwoMinds), Contains("wait at ldmatrix"));
    CHECK_THAT(fault(kLineNotAligned), Contains("16 bytes at once that are not aligned"));
    CHECK_THAT(fault(kReadsUnwritten), Contains("which no thread of the block has written"));
    CHECK_THAT(fault(kNotAligned), Contains("16 bytes at once that are not aligned: a"));
}
