#ifndef HALYARD_TESTS_EMULATOR_ELEMENTS_H
#define HALYARD_TESTS_EMULATOR_ELEMENTS_H

/** \file
 * What matrices of the tests are made of, as numbers and as their bits in memory. */

#include <cstdint>
#include <cstring>

/** Small integers, which all half types have. */
inline int element(int row, int col, int seed) {
    return (row * 7 + col * 5 + seed) % 9 - 4;
}

inline uint16_t bits_of(int value, bool bf16) {
    float f = float(value);
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    const uint32_t sign = bits >> 16 & 0x8000, exponent = bits >> 23 & 255, mantissa = bits & 0x7fffff;
    return bf16         ? uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16)
           : value == 0 ? 0
                        : uint16_t(sign | (exponent - 112) << 10 | mantissa >> 13);
}

/** A byte of either sign: a number that says so, 200 or -56. */
inline int byte_element(int row, int col, int seed, bool is_signed) {
    const int bits = (row * 41 + col * 29 + seed * 53) % 256;
    return is_signed ? int(int8_t(bits)) : bits;
}

#endif
