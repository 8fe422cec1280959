#ifndef HALYARD_MATH_TANH_H
#define HALYARD_MATH_TANH_H

/** \file
 * tanh in f32 that vectorises to any width.
 */

#include <Halide.h>

#include "math/compare.h"
#include "math/exp.h"

namespace halyard {

/** tanh(x) within 1.4 units in the last place, for all f32 x: 1 and -1 at the ends, NaN and the sign of 0 stay.
 *
 * Up to 5/8 an odd polynomial of degree 11 (Cephes), as 1 - 2 / (e^2x + 1) would cancel there. The sign is that of
 * x by its bits: fast-math takes -0 for 0. */
inline Halide::Expr tanh_f32(const Halide::Expr &x) {
    using namespace Halide;
    const Expr sign = f32_bits(x) & Expr(std::numeric_limits<int32_t>::min());
    const Expr size = reinterpret<float>(f32_bits(x) & 0x7fffffff);
    const Expr z = size * size;
    Expr p = -5.70498872745e-3f;
    for (float c : {2.06390887954e-2f, -5.37397155531e-2f, 1.33314422036e-1f, -3.33332819422e-1f}) {
        p = p * z + c;
    }
    const Expr near_0 = size + size * (z * p);
    const Expr others = 1.0f - 2.0f / (exp_f32(size + size) + 1.0f);
    const Expr bits = f32_bits(size);
    const Expr is_near_0 = bits<f32_bits(0.625f), is_nan = bits> 0x7f800000;
    const Expr y = select(is_near_0, near_0, is_nan, size, others);
    return reinterpret<float>(f32_bits(y) | sign);
}

}  // namespace halyard

#endif
