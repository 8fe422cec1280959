#ifndef HALYARD_MATH_FLOAT8_ROUNDING_H
#define HALYARD_MATH_FLOAT8_ROUNDING_H

/** \file
 * An f32 as a floating-point number of 8 bits. GPUs have an instruction for it, by which the backend prints float8_of_f32().
 */

#include <cmath>

#include <Halide.h>

#include "math/compare.h"
#include "math/float8.h"

namespace halyard {

/** The largest that has a byte, of either sign. */
inline float largest_float8(Float8 type) {
    return type == Float8::kE4M3 ? 448.0f : 57344.0f;
}

/** v as a byte: rounded to nearest, ties to even; what is larger than all numbers is the largest, infinities too, and a NaN stays one,
 * 0x7f. ONNX's QuantizeLinear has it with saturate = 1, and so have GPUs from sm_89 on.
 *
 * The digits that are kept are rounded as an integer, and a carry goes into the exponent. Below the smallest normal number, bytes are
 * multiples of its unit: the sum with the f32 whose unit is that one has them in its last bits. */
inline Halide::Expr float8_of_f32(Float8 type, const Halide::Expr &v, const Halide::Target &target = {}) {
    using namespace Halide;
    const bool e4m3 = type == Float8::kE4M3;
    if (target.has_gpu_feature()) {
        return Internal::Call::make(UInt(8), e4m3 ? "to_e4m3_f32" : "to_e5m2_f32", {v}, Internal::Call::PureExtern);
    }
    const int digits = e4m3 ? 3 : 2, dropped = 23 - digits, bias = e4m3 ? 7 : 15, smallest = 1 - bias;
    const float unit = std::ldexp(1.0f, smallest - digits), has_unit = std::ldexp(unit, 23);
    const Expr bits = f32_bits(v), magnitude = bits & 0x7fffffff, bounded = min(magnitude, f32_bits(largest_float8(type)));
    const Expr rounded = bounded + ((1 << (dropped - 1)) - 1) + ((bounded >> dropped) & 1);
    const Expr normal = (rounded >> dropped) - ((127 - bias) << digits);
    const Expr subnormal = f32_bits(reinterpret<float>(bounded) + has_unit) - f32_bits(has_unit);
    const Expr positive = select(bounded < f32_bits(std::ldexp(1.0f, smallest)), subnormal, normal);
    return cast<uint8_t>(select(magnitude > 0x7f800000, 0x7f, positive | ((bits >> 24) & 0x80)));
}

}  // namespace halyard

#endif
