// Each intrinsic of Halide's IR in a kernel gives what it gives on the host.

#include <catch2/catch.hpp>

#include <HalideBuffer.h>

#include <random>

#include "intrinsics_host.h"
#include "intrinsics_one.h"
#include "intrinsics_two.h"

using Halide::Runtime::Buffer;

TEST_CASE("intrinsics of Halide's IR are the same in kernels", "[intrinsics]") {
    const auto kernel = GENERATE(intrinsics_one, intrinsics_two);
    constexpr int kSize = 77, kRows = 16, kTypes = 13;
    Buffer<int32_t, 1> a(kSize), b(kSize);
    std::mt19937 random(3);
    const int of_bits[] = {0, 1, -1, 127, 128, 255, 256, 32767, 65535, -128, -999999};
    for (int x = 0; x < kSize; x++) {
        a(x) = x < 11 ? of_bits[x] : int32_t(random() % 1000000) - 500000;
        b(x) = x < 11 ? of_bits[10 - x] : int32_t(random() % 1000000) - 500000;
    }
    Buffer<int64_t, 3> want(kSize, kRows, kTypes), got(kSize, kRows, kTypes);
    REQUIRE(intrinsics_host(a, b, want) == 0);
    a.set_host_dirty();
    b.set_host_dirty();
    REQUIRE(kernel(a, b, got) == 0);
    REQUIRE(got.copy_to_host() == 0);
    want.for_each_element([&](int x, int row, int type) {
        if (got(x, row, type) != want(x, row, type)) {
            FAIL("row " << row << " of type " << type << " of " << a(x) << " and " << b(x) << ": " << got(x, row, type) << " instead of "
                        << want(x, row, type));
        }
    });
}

TEST_CASE("a kernel ends with an error where an algorithm requires what does not hold", "[intrinsics]") {
    Buffer<int32_t, 1> a(4), b(4);
    a.fill(-2000000);
    b.fill(0);
    Buffer<int64_t, 3> y(4, 16, 13);
    CHECK(intrinsics_host(a, b, y) != 0);
    a.set_host_dirty();
    b.set_host_dirty();
    const int code = intrinsics_one(a, b, y);
    CHECK((code != 0 || y.copy_to_host() != 0));
}
