#ifndef HALYARD_EMULATOR_ARITHMETIC_H
#define HALYARD_EMULATOR_ARITHMETIC_H

/** \file
 * CUDA's functions of numbers, and conversions of half types.
 */

#include <math.h>
#include <stdint.h>
#include <string.h>

namespace halyard {

namespace emulator {
template<class To, class From>
To same_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "of one size");
    To to;
    memcpy(&to, &from, sizeof(to));
    return to;
}
}  // namespace emulator

inline int __float_as_int(float x) {
    return emulator::same_bits<int>(x);
}
inline unsigned __float_as_uint(float x) {
    return emulator::same_bits<unsigned>(x);
}
inline float __int_as_float(int x) {
    return emulator::same_bits<float>(x);
}
inline float __uint_as_float(unsigned x) {
    return emulator::same_bits<float>(x);
}
inline int __popc(unsigned x) {
    return __builtin_popcount(x);
}
inline int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
inline int __clz(int x) {
    return x == 0 ? 32 : __builtin_clz(unsigned(x));
}
inline int __clzll(long long x) {
    return x == 0 ? 64 : __builtin_clzll((unsigned long long)x);
}
inline int __ffs(int x) {
    return __builtin_ffs(x);
}
inline int __ffsll(long long x) {
    return __builtin_ffsll(x);
}
inline float rsqrtf(float x) {
    return 1.0f / sqrtf(x);
}
inline float __expf(float x) {
    return expf(x);
}
inline float __logf(float x) {
    return logf(x);
}
inline float __fdividef(float a, float b) {
    return a / b;
}

/** 2^x; subnormal results become 0. */
inline float exp2_approx(float x) {
    const float y = exp2f(x);
    return y < 1.17549435e-38f ? 0.0f : y;
}

inline float half_bits_to_float(uint16_t h) {
    const uint32_t sign = uint32_t(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 0x3ff;
    if (exponent == 0) {
        return emulator::same_bits<float>(sign | emulator::same_bits<uint32_t>(float(mantissa) * 0x1p-24f));
    }
    return emulator::same_bits<float>(sign | (exponent == 31 ? 255u : exponent + 112) << 23 | mantissa << 13);
}

// To the nearest, ties to even; NaN stays NaN.
inline uint16_t float_to_half_bits(float f) {
    const uint32_t x = emulator::same_bits<uint32_t>(f), sign = x >> 16 & 0x8000;
    uint32_t a = x & 0x7fffffff;
    if (a > 0x7f800000) {
        return 0x7fff;
    }
    if (a >= 0x477ff000) {  // 65520, halfway past the largest
        return uint16_t(sign | 0x7c00);
    }
    if (a < 0x38800000) {  // 2^-14: subnormal, in steps of 2^-24, which are the last bits of 0.5
        return uint16_t(sign | (emulator::same_bits<uint32_t>(emulator::same_bits<float>(a) + 0.5f) - 0x3f000000));
    }
    a += 0xfff + (a >> 13 & 1);
    return uint16_t(sign | (a - (112u << 23)) >> 13);
}

inline uint16_t float_to_bfloat16_bits(float f) {
    const uint32_t x = emulator::same_bits<uint32_t>(f);
    return (x & 0x7fffffff) > 0x7f800000 ? 0x7fff : uint16_t((x + 0x7fff + (x >> 16 & 1)) >> 16);
}

/** Two at once: `low` goes to the lower address. */
inline uint32_t floats_to_half_bits(float low, float high) {
    return float_to_half_bits(low) | uint32_t(float_to_half_bits(high)) << 16;
}
inline uint32_t floats_to_bfloat16_bits(float low, float high) {
    return float_to_bfloat16_bits(low) | uint32_t(float_to_bfloat16_bits(high)) << 16;
}

}  // namespace halyard

#endif
