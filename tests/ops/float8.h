#ifndef HALYARD_TESTS_OPS_FLOAT8_H
#define HALYARD_TESTS_OPS_FLOAT8_H

/** \file
 * Numbers of 8 bits.
 */

#include <algorithm>
#include <cmath>
#include <vector>

#include "rows.h"

namespace ops_test {

/** Of a sign, `exponent_bits` and the rest of 8 bits. Of e4m3 all ones alone are a NaN, and nothing is infinite. */
inline double float8(int byte, int exponent_bits) {
    const int digits = 7 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = (byte & 127) >> digits, rest = byte & ((1 << digits) - 1);
    const double sign = byte & 128 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1 && (exponent_bits == 5 || rest == (1 << digits) - 1)) {
        return exponent_bits == 5 && rest == 0 ? sign * kInfinity : kNaN;
    }
    const double mantissa = exponent == 0 ? rest : rest + (1 << digits);
    return sign * std::ldexp(mantissa, std::max(exponent, 1) - bias - digits);
}

/** Bytes of a buffer that are numbers up to 8 of e4m3, or 32 of e5m2, in place of any. */
inline void make_small_float8(HostBuffer &buffer) {
    constexpr int kMost = 0x50;
    const std::vector<double> bytes = buffer.values();
    const auto &extents = buffer.extents();
    std::vector<int> index(extents.size(), 0);
    for (double byte : bytes) {
        buffer.set(index, (int(byte) & 128) + (int(byte) & 127) % kMost);
        for (size_t d = 0; d < index.size() && ++index[d] == extents[d]; d++) {
            index[d] = 0;
        }
    }
}

}  // namespace ops_test

#endif
