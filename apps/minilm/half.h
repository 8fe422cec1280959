#ifndef MINILM_HALF_H
#define MINILM_HALF_H

/** \file
 * The 16-bit float formats that a safetensors file may hold, as f32.
 */

#include <cmath>
#include <cstdint>
#include <cstring>

namespace minilm {

inline float float_from_bfloat(uint16_t bits) {
    const uint32_t wide = uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
}

/** Round to nearest, ties to even; a NaN stays one. */
inline uint16_t bfloat_from_float(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return uint16_t((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : rounded);
}

inline float float_from_half(uint16_t bits) {
    const int exponent = (bits >> 10) & 31;
    const int mantissa = bits & 1023;
    float magnitude;
    if (exponent == 31) {
        magnitude = mantissa ? NAN : INFINITY;
    } else if (exponent == 0) {
        magnitude = std::ldexp(float(mantissa), -24);
    } else {
        magnitude = std::ldexp(float(mantissa + 1024), exponent - 25);
    }
    return (bits & 0x8000) ? -magnitude : magnitude;
}

}  // namespace minilm

#endif
