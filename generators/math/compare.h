#ifndef HALYARD_MATH_COMPARE_H
#define HALYARD_MATH_COMPARE_H

/** \file
 * Comparisons of f32 that hold for NaN and infinity too.
 *
 * Halide lets LLVM assume that there are neither, so that `NaN == 0` may come out true, and
 * strict_float takes that licence, and the reordering of sums with it, from the whole pipeline. The bits,
 * compared as integers, say the same and cost as much: numbers of one sign are in the order of their bits.
 */

#include <cstdint>
#include <cstring>

#include <Halide.h>

namespace halyard {

inline int32_t f32_bits(float value) {
    int32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline Halide::Expr f32_bits(const Halide::Expr &x) {
    return Halide::reinterpret<int32_t>(x);
}

inline Halide::Expr is_nan_f32(const Halide::Expr &x) {
    return (f32_bits(x) & 0x7fffffff) > 0x7f800000;
}

/** x == 0, of either sign. */
inline Halide::Expr is_zero_f32(const Halide::Expr &x) {
    return (f32_bits(x) & 0x7fffffff) == 0;
}

/** x == -infinity, or a NaN with a minus sign. Not an equality: LLVM makes one of x itself of that, and
 * answers it with no where x is the result of an operation, which is never infinite by its flags. */
inline Halide::Expr is_minus_infinity_f32(const Halide::Expr &x) {
    return Halide::reinterpret<uint32_t>(x) >= Halide::Expr(0xff800000u);
}

/** x < limit for a limit below 0; not for a NaN. */
inline Halide::Expr is_below_f32(const Halide::Expr &x, float limit) {
    const uint32_t first = static_cast<uint32_t>(f32_bits(limit)) + 1;  // the next number below it
    return Halide::reinterpret<uint32_t>(x) - Halide::Expr(first) <= Halide::Expr(0xff800000u - first);
}

/** x < 0 or x is -0; not for a NaN. The bits of -infinity are -0x800000. */
inline Halide::Expr has_minus_f32(const Halide::Expr &x) {
    return f32_bits(x) <= -0x800000;
}

}  // namespace halyard

#endif
