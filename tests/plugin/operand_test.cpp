// A kernel on the tensor cores whose epilogue reads an operand of its own product.

#include <catch2/catch.hpp>

#include <HalideBuffer.h>

#include <cmath>
#include <cstring>
#include <random>

#include "halyard/cuda.h"
#include "product_plus_operand_16.h"
#include "product_plus_operand_64.h"

namespace {

using Halide::Runtime::Buffer;

float from_bfloat16(uint16_t bits) {
    const uint32_t wide = uint32_t(bits) << 16;
    float value;
    memcpy(&value, &wide, sizeof(value));
    return value;
}

Buffer<uint16_t, 2> random_bfloat16(int width, int height, uint32_t seed) {
    Buffer<uint16_t, 2> b(width, height);
    std::mt19937 random(seed);
    b.for_each_value([&](uint16_t &v) {
        const float value = std::uniform_real_distribution<float>(-1, 1)(random);
        uint32_t bits;
        memcpy(&bits, &value, sizeof(bits));
        v = uint16_t(bits >> 16);
    });
    b.raw_buffer()->type = halide_type_t(halide_type_bfloat, 16);
    return b;
}

}  // namespace

TEST_CASE("an epilogue may read an operand of its own product", "[operand]") {
    const auto kernel = GENERATE(product_plus_operand_16, product_plus_operand_64);
    // Whole tiles by TMA, and sizes that it does not take.
    const auto [n, m] = GENERATE(std::pair(128, 64), std::pair(128, 16), std::pair(72, 130), std::pair(65, 3));
    CAPTURE(n, m);
    auto a = random_bfloat16(n, m, 1), b = random_bfloat16(n, n, 2);
    Buffer<float, 2> y(n, m);
    y.fill(NAN);
    a.set_host_dirty();
    b.set_host_dirty();
    REQUIRE(kernel(a, b, y) == 0);
    REQUIRE(y.copy_to_host() == 0);
    int wrong = 0;
    for (int row = 0; row < m; row++) {
        for (int col = 0; col < n; col++) {
            double sum = from_bfloat16(a(col, row));
            for (int k = 0; k < n; k++) {
                sum += double(from_bfloat16(a(k, row))) * from_bfloat16(b(col, k));
            }
            wrong += std::abs(y(col, row) - sum) < 1e-4 ? 0 : 1;
        }
    }
    CHECK(wrong == 0);
}
