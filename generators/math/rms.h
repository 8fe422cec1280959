#ifndef HALYARD_MATH_RMS_H
#define HALYARD_MATH_RMS_H

/** \file
 * The factor of RMSNorm (Zhang and Sennrich, Root Mean Square Layer Normalization, 2019).
 */

#include <Halide.h>

namespace halyard {

/** 1 / sqrt(sum_sq / columns + eps), in f32. A row of no columns has a mean of 0, not NaN: a product over it is 0. */
inline Halide::Expr inverse_rms(const Halide::Expr &sum_sq, const Halide::Expr &columns, const Halide::Expr &eps) {
    return 1.0f / Halide::sqrt(sum_sq / Halide::cast<float>(Halide::max(columns, 1)) + eps);
}

}  // namespace halyard

#endif
