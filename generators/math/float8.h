#ifndef HALYARD_MATH_FLOAT8_H
#define HALYARD_MATH_FLOAT8_H

/** \file
 * Floating-point numbers of 8 bits, which are stored as bytes (Micikevicius et al. 2022, "FP8 formats for deep learning"; OCP 8-bit
 * floating point specification). e4m3 has a NaN of each sign and no infinities, and its largest number is 448; e5m2 is the first half of
 * an f16.
 *
 * A byte becomes an f16 by some integer instructions on many at once, and of that processors and GPUs make an f32 by one. Subnormal
 * numbers are such of f16, which conversions take at full speed.
 *
 * The lowering for tensor cores knows numbers of 8 bits by these expressions.
 */

#include <map>
#include <string>

#include <Halide.h>

namespace halyard {

/** What e4m3_as_f16() is to be multiplied by. */
constexpr float kFactorOfE4M3 = 256;

/** An e4m3 divided by 256, exact: a zero goes between its sign and its exponent, and the exponent of f16 is 8 higher.
 *
 *   s eeee mmm     ->     s s eeee mmm 0000000     ->     s 0 eeee mmm 0000000, of NaN s 1 1111 ...
 *
 * A unit more in the last place carries out of the exponent of a NaN alone. */
inline Halide::Expr e4m3_as_f16(const Halide::Expr &byte) {
    using namespace Halide;
    const Expr twice_signed = cast<uint16_t>(cast<int16_t>(reinterpret<int8_t>(byte))) << cast<uint16_t>(7);
    const Expr carried = twice_signed + cast<uint16_t>(1 << 7);
    return reinterpret(Float(16), twice_signed ^ (carried & cast<uint16_t>(1 << 14)));
}

inline Halide::Expr e5m2_as_f16(const Halide::Expr &byte) {
    using namespace Halide;
    return reinterpret(Float(16), cast<uint16_t>(byte) << cast<uint16_t>(8));
}

/** How a number is stored in 8 bits. */
enum class Float8 { kE4M3, kE5M2 };

inline std::map<std::string, Float8> float8_types() {
    return {{"float8_e4m3", Float8::kE4M3}, {"float8_e5m2", Float8::kE5M2}};
}

/** The number that is stored as a byte, exact. */
inline Halide::Expr f32_of_float8(Float8 type, const Halide::Expr &byte) {
    using namespace Halide;
    return type == Float8::kE4M3 ? cast<float>(e4m3_as_f16(byte)) * kFactorOfE4M3 : cast<float>(e5m2_as_f16(byte));
}

}  // namespace halyard

#endif
