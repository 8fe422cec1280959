#ifndef HALYARD_MATH_TRIG_H
#define HALYARD_MATH_TRIG_H

/** \file
 * sin and cos in f32 that vectorise to any width.
 */

#include <Halide.h>

#include "math/compare.h"

namespace halyard {

/** The largest |x| that sin_f32 and cos_f32 are for, and that of sin_quarters_f64. */
constexpr float kLargestAngle = 131072.0f;
constexpr double kLargestWideAngle = 0x1p20;

/** sin(x + quarters pi/2) as f32 of an x of f64, |x| <= kLargestWideAngle, within 1.6 units in the last place of it.
 *
 * x is cut into n pi/2, for an integer n, and a rest in [-pi/4, pi/4], in f64: pi/2 has a part of 33 bits, whose product
 * with n is exact, and one of the 53 behind it. What is left after the first is clamped, which changes nothing, as
 * LLVM would otherwise add the parts up again under fast-math. Then one of two polynomials (Cephes). */
inline Halide::Expr sin_quarters_f64(const Halide::Expr &x, int quarters) {
    using namespace Halide;
    const Expr kFirst(0x1.921fb544p+0), kSecond(0x1.0b4611a626331p-34), kOne(1.0);
    const int kBias = 1 << 20;  // conversions truncate, which rounds above 0
    const Expr n = cast<int32_t>(x * Expr(0.63661977236758134) + Expr(kBias + 0.5)) - kBias;
    const Expr turns = cast<double>(n);
    const Expr most = max(min(x - turns * kFirst, kOne), -kOne);
    const Expr r = cast<float>(most - turns * kSecond);
    const Expr z = r * r;
    const Expr sine = r + r * (z * ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f));
    const Expr cosine = (z * z) * ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) + (1.0f - 0.5f * z);
    const Expr quarter = n + quarters;
    const Expr value = select((quarter & 1) == 0, sine, cosine);
    // By its bits, as fast-math takes -0 for 0; of no sign, as LLVM may take anything for an overflow of those that have one.
    return reinterpret<float>(reinterpret<uint32_t>(value) ^ (cast<uint32_t>(quarter & 2) << 30));
}

/** The same of an x of f32, |x| <= kLargestAngle. */
inline Halide::Expr sin_quarters_f32(const Halide::Expr &x, int quarters) {
    return sin_quarters_f64(Halide::cast<double>(x), quarters);
}

inline Halide::Expr sin_f32(const Halide::Expr &x) {
    using namespace Halide;
    // sin(-0) is -0, and so is what is next to it.
    return select((f32_bits(x) & 0x7fffffff) < f32_bits(1e-4f), x, sin_quarters_f32(x, 0));
}

inline Halide::Expr cos_f32(const Halide::Expr &x) {
    return sin_quarters_f32(x, 1);
}

}  // namespace halyard

#endif
