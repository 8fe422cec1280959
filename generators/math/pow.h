#ifndef HALYARD_MATH_POW_H
#define HALYARD_MATH_POW_H

/** \file
 * Powers in f32, and logarithms of all numbers, that vectorise to any width.
 */

#include <Halide.h>

#include "math/compare.h"
#include "math/log.h"

namespace halyard {

/** log_f32 for all f32 x: log(-0) = -infinity, NaN where x < 0. */
inline Halide::Expr log_or_nan_f32(const Halide::Expr &x) {
    using namespace Halide;
    const Expr bits = reinterpret<int32_t>(x), size = bits & 0x7fffffff;
    const Expr of_positive = log_f32(reinterpret<float>(size));
    return select(bits < 0 && size != 0, reinterpret<float>(Expr(0x7fc00000)), of_positive);
}

/** log2(x) in f64 for finite f32 x > 0, within 2^-38 of it: of the exponent, and of the mantissa in [sqrt(1/2), sqrt(2))
 * the series in s = (m - 1) / (m + 1), which is below 0.172. */
inline Halide::Expr log2_wide(const Halide::Expr &x) {
    using namespace Halide;
    const Expr denormal = f32_bits(x) < 0x00800000;
    const Expr bits = f32_bits(select(denormal, x * 8388608.0f, x)) - 0x3f3504f3;
    const Expr n = (bits >> 23) - select(denormal, 23, 0);
    const Expr m = cast<double>(reinterpret<float>((bits & 0x7fffff) + 0x3f3504f3));
    const Expr kOne(1.0);
    const Expr s = (m - kOne) / (m + kOne);
    const Expr z = s * s;
    const double kTwice = 2.8853900817779268;  // 2 / ln(2)
    Expr p(kTwice / 15);
    for (int i : {13, 11, 9, 7, 5, 3, 1}) {
        p = p * z + Expr(kTwice / i);
    }
    return p * s + cast<double>(n);
}

/** 2^x of f64 as f32, for x in [-1000, 1000], within 0.51 epsilon of it: a series of degree 9 in f64. */
inline Halide::Expr exp2_of_wide(const Halide::Expr &x) {
    using namespace Halide;
    const int kBias = 1023;
    const Expr n = cast<int32_t>(x + Expr(kBias + 0.5));  // above 0, where truncating rounds
    const Expr f = x - cast<double>(n - kBias);
    double factorial = 362880, power = 1, ln2 = 0.69314718055994531;
    for (int i = 0; i < 9; i++) {
        power *= ln2;
    }
    Expr p(power / factorial);
    for (int i = 8; i >= 0; i--) {
        power /= ln2;
        factorial /= i + 1;
        p = p * f + Expr(power / factorial);
    }
    return cast<float>(p * reinterpret<double>(cast<int64_t>(n) << 52));
}

/** e^x for all f32 x, within 0.51 epsilon of it, denormals among them. */
inline Halide::Expr exp_exact_f32(const Halide::Expr &x) {
    using namespace Halide;
    const Expr bits = f32_bits(x), nan = (bits & 0x7fffffff) > 0x7f800000;
    const Expr number = reinterpret<float>(select(nan, 0, bits));
    const Expr end = max(min(number, 200.0f), -200.0f);
    return select(nan, x, exp2_of_wide(cast<double>(end) * Expr(1.4426950408889634)));
}

/** x^y for all f32, within 0.52 epsilon of it, with zeros, infinities, NaN, denormals and signs as C has them: 1 where y is 0 or
 * x is 1, NaN for x < 0 and a y that is no integer. By way of f64, as an error of y log2(x) is one of the power times 88. */
inline Halide::Expr pow_f32(const Halide::Expr &x, const Halide::Expr &y) {
    using namespace Halide;
    const int32_t kInfinity = 0x7f800000, kSign = std::numeric_limits<int32_t>::min();
    const Expr x_bits = f32_bits(x), y_bits = f32_bits(y);
    const Expr size_bits = x_bits & 0x7fffffff, y_size_bits = y_bits & 0x7fffffff;
    const Expr end = size_bits == 0 || size_bits >= kInfinity;
    const Expr size = reinterpret<float>(select(end, f32_bits(1.0f), size_bits));
    // The largest number does for infinity.
    const Expr number = reinterpret<float>(min(y_size_bits, kInfinity - 1) | (y_bits & kSign));
    const Expr exponent = max(min(cast<double>(number) * log2_wide(size), Expr(1000.0)), Expr(-1000.0));
    const Expr grows = (size_bits == 0) == (y_bits < 0);  // of 0 and of infinity
    const Expr of_end = select(y_size_bits == 0, f32_bits(1.0f), grows, kInfinity, 0);
    const Expr power = select(end, of_end, f32_bits(exp2_of_wide(exponent)));
    // From 2^24 on every f32 is even.
    const Expr whole = cast<int32_t>(max(min(number, 16777216.0f), -16777216.0f));
    const Expr is_whole = y_size_bits == 0 || f32_bits(cast<float>(whole)) == y_bits || y_size_bits >= f32_bits(16777216.0f);
    const Expr odd = is_whole && (whole & 1) == 1;
    const Expr sign = select(odd, x_bits & kSign, 0);
    const Expr no_root = x_bits < 0 && !end && !is_whole;
    const Expr is_nan = (size_bits > kInfinity || y_size_bits > kInfinity) && y_size_bits != 0 && x_bits != f32_bits(1.0f);
    return reinterpret<float>(select(no_root || is_nan, 0x7fc00000, power | sign));
}

}  // namespace halyard

#endif
