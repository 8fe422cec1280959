#ifndef HALYARD_MATH_LOG_H
#define HALYARD_MATH_LOG_H

/** \file
 * log in f32 of what is not negative, vectorised to any width. Halide's own takes a NaN for 0.
 */

#include <Halide.h>

#include "math/own_rounding.h"

namespace halyard {

/** log(1 + f) for f in [-0.3, 0.42]: f times a minimax polynomial of degree 9 (error 4e-9). */
inline Halide::Expr log1p_near_0(const Halide::Expr &f) {
    using namespace Halide;
    Expr p = -7.633010298e-2f;
    for (float c : {1.292346716e-1f, -1.324806362e-1f, 1.417937279e-1f, -1.660821438e-1f, 2.000206262e-1f, -2.500161827e-1f,
                    3.333332539e-1f, -4.999998808e-1f, 1.0f}) {
        p = p * f + c;
    }
    return own_product(p, f);  // what is added to it is fused with another product
}

/** n where x = 2^n (1 + f), with 1 + f in [sqrt(1/2), sqrt(2)). */
inline Halide::Expr log_exponent(const Halide::Expr &x) {
    return (Halide::reinterpret<int32_t>(x) - 0x3f3504f3) >> 23;
}
inline Halide::Expr exp2_of_integer(const Halide::Expr &n) {
    return Halide::reinterpret<float>(0x3f800000 + (n << 23));
}

/** For x >= 0: log(0) = -infinity, and infinity and NaN stay. Relative error below 3 epsilon, but near 1, where
 * it is 1 epsilon of the difference. */
inline Halide::Expr log_f32(const Halide::Expr &x) {
    using namespace Halide;
    const Expr bits = reinterpret<int32_t>(x), denormal = bits < 0x00800000;
    const Expr scaled = select(denormal, x * 8388608.0f, x);
    const Expr n = log_exponent(scaled) - select(denormal, 23, 0);
    // The mantissa by its bits: 2^-n is no number for the largest x.
    const Expr mantissa = ((reinterpret<int32_t>(scaled) - 0x3f3504f3) & 0x7fffff) + 0x3f3504f3;
    const Expr log_x = log1p_near_0(reinterpret<float>(mantissa) - 1.0f) + cast<float>(n) * 0.69314718f;
    return select(bits == 0, Float(32).min(), bits < 0 || bits >= 0x7f800000, x, log_x);
}

/** log(1 + x) for x >= 0, with a relative error below 3 epsilon also where x is small; infinity and NaN
 * stay: f is x itself there. (x - (2^n - 1)) / 2^n would be without a choice, but LLVM may, and does, make
 * (1 + x) / 2^n - 1 of it. */
inline Halide::Expr log1p_f32(const Halide::Expr &x) {
    using namespace Halide;
    const Expr n = log_exponent(1.0f + x);
    const Expr f = select(n == 0, x, (1.0f + x) * exp2_of_integer(-n) - 1.0f);
    const Expr log_1p = log1p_near_0(f) + cast<float>(n) * 0.69314718f;
    const Expr bits = reinterpret<int32_t>(x);
    return select(bits < 0 || bits >= 0x7f800000, x, log_1p);
}

}  // namespace halyard

#endif
