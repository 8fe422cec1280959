// Elements of every type as doubles. The 16-bit floats are held against their definition, bit by bit.

#include <cmath>
#include <cstring>
#include <limits>

#include <catch2/catch.hpp>

#include "kernel/element.h"
#include "kernel/failure.h"

namespace {

using halyard::load_element;
using halyard::store_element;

const halide_type_t kHalf(halide_type_float, 16), kBf16(halide_type_bfloat, 16), kFloat(halide_type_float, 32), kF64(halide_type_float, 64);

uint16_t stored(const halide_type_t &type, double value) {
    uint16_t bits = 0x5a5a;
    store_element(type, &bits, value);
    return bits;
}

double loaded(const halide_type_t &type, uint16_t bits) {
    return load_element(type, &bits);
}

template<typename T>
T stored_as(const halide_type_t &type, double value) {
    T result{};
    store_element(type, &result, value);
    return result;
}

}  // namespace

TEST_CASE("Every 16-bit float survives a load and a store", "[element]") {
    for (const auto &type : {kHalf, kBf16}) {
        int wrong = 0, nans = 0;
        for (int bits = 0; bits < 0x10000; bits++) {
            const double value = loaded(type, uint16_t(bits));
            nans += std::isnan(value);
            wrong += std::isnan(value) ? !std::isnan(loaded(type, stored(type, value))) : stored(type, value) != bits;
        }
        CHECK(wrong == 0);
        CHECK(nans == 2 * ((type == kHalf ? 1024 : 128) - 1));
    }
}

TEST_CASE("bf16 is the upper half of f32", "[element]") {
    int wrong = 0;
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        const uint32_t wide = bits << 16;
        float f;
        std::memcpy(&f, &wide, sizeof(f));
        wrong += !(std::isnan(f) ? std::isnan(loaded(kBf16, uint16_t(bits))) : loaded(kBf16, uint16_t(bits)) == f);
    }
    CHECK(wrong == 0);
}

TEST_CASE("Known halves", "[element]") {
    CHECK(loaded(kHalf, 0x3c00) == 1);
    CHECK(loaded(kHalf, 0xc000) == -2);
    CHECK(loaded(kHalf, 0x7bff) == 65504);
    CHECK(loaded(kHalf, 0x0001) == std::ldexp(1, -24));
    CHECK(loaded(kHalf, 0x0400) == std::ldexp(1, -14));
    CHECK(std::isinf(loaded(kHalf, 0x7c00)));
    CHECK(std::signbit(loaded(kHalf, 0x8000)));
}

TEST_CASE("Halves between two neighbours go to the nearest, or the even one", "[element]") {
    for (const auto &type : {kHalf, kBf16}) {
        int wrong = 0;
        const int infinity = type == kHalf ? 0x7c00 : 0x7f80;
        for (int bits = 0; bits + 1 < infinity; bits++) {
            const double low = loaded(type, uint16_t(bits)), high = loaded(type, uint16_t(bits + 1));
            const double middle = (low + high) / 2, nudge = (high - low) / 64;
            wrong += stored(type, middle) != (bits % 2 == 0 ? bits : bits + 1);
            wrong += stored(type, middle - nudge) != bits;
            wrong += stored(type, middle + nudge) != bits + 1;
            wrong += stored(type, -middle - nudge) != ((bits + 1) | 0x8000);
        }
        CHECK(wrong == 0);
    }
    CHECK(stored(kHalf, 65519.9) == 0x7bff);
    CHECK(stored(kHalf, 65520) == 0x7c00);  // half way to 65536, which is no more
    CHECK(stored(kHalf, -1e300) == 0xfc00);
    CHECK(stored(kHalf, std::ldexp(1, -25)) == 0);
    CHECK(stored(kHalf, std::numeric_limits<double>::denorm_min()) == 0);
    CHECK(stored(kHalf, -0.0) == 0x8000);
    CHECK(std::isnan(loaded(kHalf, stored(kHalf, NAN))));
}

TEST_CASE("Integers saturate and are cut towards zero", "[element]") {
    const auto type = [](halide_type_code_t code, int bits) { return halide_type_t(code, uint8_t(bits)); };
    CHECK(stored_as<int8_t>(type(halide_type_int, 8), 1000) == 127);
    CHECK(stored_as<int8_t>(type(halide_type_int, 8), -1000) == -128);
    CHECK(stored_as<int8_t>(type(halide_type_int, 8), -3.9) == -3);
    CHECK(stored_as<uint8_t>(type(halide_type_uint, 8), -1) == 0);
    CHECK(stored_as<uint8_t>(type(halide_type_uint, 1), 7) == 1);
    CHECK(stored_as<int32_t>(type(halide_type_int, 32), 1e10) == INT32_MAX);
    CHECK(stored_as<int64_t>(type(halide_type_int, 64), 1e300) == INT64_MAX);
    CHECK(stored_as<int64_t>(type(halide_type_int, 64), -INFINITY) == INT64_MIN);
    CHECK(stored_as<uint64_t>(type(halide_type_uint, 64), 0x1p64) == UINT64_MAX);
    CHECK(stored_as<int32_t>(type(halide_type_int, 32), NAN) == 0);
}

TEST_CASE("Wide floats and their names", "[element]") {
    CHECK(stored_as<float>(kFloat, 0.1) == 0.1f);
    CHECK(stored_as<double>(kF64, 0.1) == 0.1);
    CHECK(halyard::type_name(kFloat) == "f32");
    CHECK(halyard::type_name(kBf16) == "bf16");
    CHECK(halyard::type_name(halide_type_t(halide_type_uint, 8)) == "u8");
    double value = 0;
    CHECK_THROWS_AS(load_element(halide_type_t(halide_type_float, 8), &value), halyard::Failure);
    CHECK_THROWS_AS(store_element(halide_type_t(halide_type_handle, 64), &value, 0), halyard::Failure);
}
