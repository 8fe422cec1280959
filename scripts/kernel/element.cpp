#include "kernel/element.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "kernel/failure.h"

namespace halyard {

namespace {

template<typename T>
double load_as(const void *from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return static_cast<double>(value);
}

template<typename T>
void store_as(void *to, double value) {
    T stored = static_cast<T>(value);
    if constexpr (std::is_integral_v<T>) {
        // As a double, the largest 64-bit integer rounds up to one that does not fit.
        const double low = static_cast<double>(std::numeric_limits<T>::min());
        const double high = static_cast<double>(std::numeric_limits<T>::max());
        stored = std::isnan(value) ? 0
                 : value <= low    ? std::numeric_limits<T>::min()
                 : value >= high   ? std::numeric_limits<T>::max()
                                   : static_cast<T>(value);
    }
    std::memcpy(to, &stored, sizeof(T));
}

constexpr int kDoubleBias = 1023, kDoubleMantissa = 52;

// A normal one. Tests convert every element of every call several times: std::ldexp and std::ilogb took a tenth of theirs.
double power_of_two(int exponent) {
    const uint64_t bits = uint64_t(exponent + kDoubleBias) << kDoubleMantissa;
    return load_as<double>(&bits);
}

// As std::ilogb, or less where it is below the normal numbers.
int exponent_of(double value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return int(bits >> kDoubleMantissa & 0x7ff) - kDoubleBias;
}

// A binary float of 16 bits with `exponent` and `mantissa` bits.
double load_small_float(const void *from, int exponent, int mantissa) {
    uint16_t bits;
    std::memcpy(&bits, from, sizeof(bits));
    const double sign = bits & 0x8000 ? -1 : 1;
    const int e = (bits >> mantissa) & ((1 << exponent) - 1), m = bits & ((1 << mantissa) - 1);
    const int bias = (1 << (exponent - 1)) - 1;
    if (e == (1 << exponent) - 1) {
        return m ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
    }
    return sign * (e == 0 ? m * power_of_two(1 - bias - mantissa) : (m + (1 << mantissa)) * power_of_two(e - bias - mantissa));
}

void store_small_float(void *to, double value, int exponent, int mantissa) {
    const int bias = (1 << (exponent - 1)) - 1, infinity = ((1 << exponent) - 1) << mantissa;
    int bits = infinity;
    if (std::isnan(value)) {
        bits |= 1 << (mantissa - 1);
    } else if (value != 0 && std::isfinite(value)) {
        // The step between neighbours of |value|; below the normal numbers it no longer shrinks.
        const int e = std::max(exponent_of(value), 1 - bias);
        const double steps = std::nearbyint(std::fabs(value) * power_of_two(mantissa - e));  // half to even
        // A carry out of the mantissa lands in the exponent, where it belongs.
        const int64_t wide = int64_t(steps) + (int64_t(e + bias - 1) << mantissa);
        bits = static_cast<int>(std::min<int64_t>(wide, infinity));
    } else if (value == 0) {
        bits = 0;
    }
    const auto stored = static_cast<uint16_t>(bits | (std::signbit(value) ? 0x8000 : 0));
    std::memcpy(to, &stored, sizeof(stored));
}

[[noreturn]] void unknown(const halide_type_t &type) {
    throw Failure(fmt::format("an element of type code {} with {} bits is not supported", int(type.code), int(type.bits)));
}

constexpr int key(halide_type_code_t code, int bits) {
    return code * 256 + bits;
}

}  // namespace

double load_element(const halide_type_t &type, const void *from) {
    switch (key(type.code, type.bits)) {
    case key(halide_type_float, 16): return load_small_float(from, 5, 10);
    case key(halide_type_bfloat, 16): return load_small_float(from, 8, 7);
    case key(halide_type_float, 32): return load_as<float>(from);
    case key(halide_type_float, 64): return load_as<double>(from);
    case key(halide_type_int, 8): return load_as<int8_t>(from);
    case key(halide_type_int, 16): return load_as<int16_t>(from);
    case key(halide_type_int, 32): return load_as<int32_t>(from);
    case key(halide_type_int, 64): return load_as<int64_t>(from);
    case key(halide_type_uint, 1):
    case key(halide_type_uint, 8): return load_as<uint8_t>(from);
    case key(halide_type_uint, 16): return load_as<uint16_t>(from);
    case key(halide_type_uint, 32): return load_as<uint32_t>(from);
    case key(halide_type_uint, 64): return load_as<uint64_t>(from);
    default: unknown(type);
    }
}

void store_element(const halide_type_t &type, void *to, double value) {
    switch (key(type.code, type.bits)) {
    case key(halide_type_float, 16): return store_small_float(to, value, 5, 10);
    case key(halide_type_bfloat, 16): return store_small_float(to, value, 8, 7);
    case key(halide_type_float, 32): return store_as<float>(to, value);
    case key(halide_type_float, 64): return store_as<double>(to, value);
    case key(halide_type_int, 8): return store_as<int8_t>(to, value);
    case key(halide_type_int, 16): return store_as<int16_t>(to, value);
    case key(halide_type_int, 32): return store_as<int32_t>(to, value);
    case key(halide_type_int, 64): return store_as<int64_t>(to, value);
    case key(halide_type_uint, 1): return store_as<uint8_t>(to, value != 0);
    case key(halide_type_uint, 8): return store_as<uint8_t>(to, value);
    case key(halide_type_uint, 16): return store_as<uint16_t>(to, value);
    case key(halide_type_uint, 32): return store_as<uint32_t>(to, value);
    case key(halide_type_uint, 64): return store_as<uint64_t>(to, value);
    default: unknown(type);
    }
}

std::string type_name(const halide_type_t &type) {
    const char *const names[] = {"i", "u", "f", "handle", "bf"};
    return fmt::format("{}{}", names[std::min<int>(type.code, 4)], int(type.bits));
}

}  // namespace halyard
