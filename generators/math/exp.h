#ifndef HALYARD_MATH_EXP_H
#define HALYARD_MATH_EXP_H

/** \file
 * exp in f32 that vectorises to any width.
 */

#include <Halide.h>

namespace halyard {

/** e^x for all f32 x. Relative error below 2 epsilon + |x| epsilon (the second part is what the
 * rounding of x alone brings); 0 below -87.3, infinity above 88.7, NaN stays.
 *
 * x log2(e) is cut into an integer n and f in [-1/2, 1/2]; 2^f is a minimax polynomial of degree 6
 * (error 2e-9); 2^n goes into the exponent. Halide's own exp rounds with a call that LLVM splits
 * into halves for 512-bit vectors; adding a large constant rounds in one addition of any width, and
 * is strict so that it is not simplified away. Multiplying by 2^n instead of adding n to the bits
 * keeps a NaN a NaN. */
inline Halide::Expr exp_f32(const Halide::Expr &x) {
    using namespace Halide;
    const float kShift = 12582912.0f;  // 1.5 * 2^23: its last mantissa bits hold the integer
    const float kLowest = -87.3f, kHighest = 88.7f;
    const Expr t = x * 1.44269504f;
    const Expr shifted = strict_float(t + kShift);
    const Expr f = t - strict_float(shifted - kShift);
    Expr p = 1.534581243e-4f;
    for (float c : {1.339993090e-3f, 9.618489072e-3f, 5.550328643e-2f, 2.402264625e-1f, 6.931471825e-1f, 1.0f}) {
        p = p * f + c;
    }
    const Expr scale = reinterpret<float>((reinterpret<int32_t>(shifted) << 23) + 0x3f800000);
    return select(strict_float(x < kLowest), 0.0f, strict_float(x > kHighest),
                  Internal::make_const(Float(32), std::numeric_limits<double>::infinity()), p * scale);
}

}  // namespace halyard

#endif
