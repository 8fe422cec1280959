#ifndef HALYARD_MATH_EXP_H
#define HALYARD_MATH_EXP_H

/** \file
 * exp in f32 that vectorises to any width.
 */

#include <Halide.h>

#include "math/compare.h"

namespace halyard {

/** e^x for all f32 x. Relative error below 1 epsilon + |x| / 40 epsilon, with |x| / 2 for |x| / 40 where the
 * target has no FMA; 0 below -86.98, infinity above 88.73, NaN stays.
 *
 * x is cut into n ln(2), for an integer n, and f in [-ln(2)/2, ln(2)/2]. 2 e^f is a minimax polynomial of
 * degree 6 (error 3e-9); 2^(n-1) is made of bits. The polynomial has the factor 2, so that n may be 128.
 *
 * Halide's own exp rounds with a call that LLVM splits into halves for 512-bit vectors. A conversion to
 * integer truncates in one instruction of any width, which rounds where what comes in is above 0. The
 * usual magic constant (t + 1.5 * 2^23 - 1.5 * 2^23) rounds too, but only under strict_float, and one
 * strict_float keeps all sums of the pipeline in order; LLVM does not see through the conversions
 * here. The ends are clamped as integers, which is defined for NaN; the factor becomes 0 or infinity
 * by itself there.
 *
 * A GPU has an instruction for 2^x: there it is that of x log2(e), within 2 + |x| / 2 epsilon. */
inline Halide::Expr exp_f32(const Halide::Expr &x, const Halide::Target &target = {}) {
    using namespace Halide;
    if (target.has_gpu_feature()) {
        return exp(x);
    }
    const float kLowest = -87.5f, kHighest = 89.2f;  // factors 0 and infinity
    const int kBias = 126;                           // of the exponent, less one
    // Unsigned, numbers with a minus are the largest; signed, those without.
    const Expr below_top = min(f32_bits(x), f32_bits(kHighest));
    const Expr ends = min(reinterpret<uint32_t>(below_top), Expr(static_cast<uint32_t>(f32_bits(kLowest))));
    const Expr clamped = reinterpret<float>(ends);
    const Expr n = cast<int32_t>(clamped * 1.44269504f + (kBias + 0.5f));
    const Expr f = clamped - cast<float>(n - kBias) * 0.693147181f;
    Expr p = 2 * 1.381461159e-3f;
    for (float c : {8.368710055e-3f, 4.166838899e-2f, 1.666652113e-1f, 4.999999404e-1f, 1.0f, 1.0f}) {
        p = p * f + 2 * c;
    }
    return select(is_nan_f32(x), x, p * reinterpret<float>(n << 23));
}

/** e^x for x not above 0, or above it by rounding: as exp_f32 there, 0 below -86.99, NaN stays. With fewer
 * instructions: truncation rounds as well below 0, of x / ln(2) - 1/2; e^f comes without a factor, as 2^n is added to
 * its exponent, which n in [-126, 0] cannot leave; and one comparison of bits has both the end and the NaNs, which are
 * outside of its interval and go through the polynomial. */
inline Halide::Expr exp_nonpositive_f32(const Halide::Expr &x, const Halide::Target &target = {}) {
    using namespace Halide;
    if (target.has_gpu_feature()) {
        return exp_f32(x, target);
    }
    const Expr n = cast<int32_t>(x * 1.44269504f - 0.5f);
    const Expr f = x - cast<float>(n) * 0.693147181f;
    Expr p = 1.381461159e-3f;
    for (float c : {8.368710055e-3f, 4.166838899e-2f, 1.666652113e-1f, 4.999999404e-1f, 1.0f, 1.0f}) {
        p = p * f + c;
    }
    return reinterpret<float>(select(is_below_f32(x, -86.99f), 0, f32_bits(p) + (n << 23)));
}

/** 2^x, as exp_f32 of x ln(2). */
inline Halide::Expr exp2_f32(const Halide::Expr &x, const Halide::Target &target = {}) {
    using namespace Halide;
    if (target.has_gpu_feature()) {
        return Internal::Call::make(Float(32), "exp2_f32", {x}, Internal::Call::PureExtern);
    }
    return exp_f32(x * 0.693147181f, target);
}

}  // namespace halyard

#endif
