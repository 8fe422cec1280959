#ifndef HALYARD_FLOAT_BITS_H
#define HALYARD_FLOAT_BITS_H

/** \file
 * Conversions between f32 and the types of 16 bits, without branches, so that a loop of them is vectorised for any processor.
 */

#include <stdint.h>
#include <string.h>

namespace halyard {

struct BFloat16 {
    uint16_t bits;
};

struct Float16 {
    uint16_t bits;
};

inline uint32_t bits_of(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

inline float float_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

inline float to_float(float f) {
    return f;
}

inline float to_float(BFloat16 b) {
    return float_of(uint32_t(b.bits) << 16);
}

// Shifted into place the exponent is 112 too small, which a product mends, for subnormal numbers too.
inline float to_float(Float16 h) {
    const uint32_t sign = uint32_t(h.bits & 0x8000) << 16, rest = uint32_t(h.bits & 0x7fff) << 13;
    const uint32_t finite = bits_of(float_of(rest) * float_of((127 + 112) << 23));
    return float_of(sign | (rest >= (0x7c00u << 13) ? rest | 0x7f800000 : finite));
}

inline void from_float(float f, float &to) {
    to = f;
}

// To nearest, ties to even; a NaN stays one.
inline void from_float(float f, BFloat16 &to) {
    const uint32_t bits = bits_of(f);
    const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
    to.bits = uint16_t(is_nan ? (bits >> 16) | 0x40 : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// To nearest, ties to even: below 2^-14 by adding 0.5, whose last place is that of the smallest number of 16 bits.
inline void from_float(float f, Float16 &to) {
    const uint32_t bits = bits_of(f), sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7fffffff;
    const uint32_t normal = (magnitude - (112u << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    const uint32_t small = bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f);
    const uint32_t large = magnitude > 0x7f800000 ? 0x7e00 | ((magnitude >> 13) & 0x3ff) : 0x7c00;
    to.bits = uint16_t(sign | (magnitude >= (143u << 23) ? large : magnitude < (113u << 23) ? small : normal));
}

}  // namespace halyard

#endif
