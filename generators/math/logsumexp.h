#ifndef HALYARD_MATH_LOGSUMEXP_H
#define HALYARD_MATH_LOGSUMEXP_H

/** \file
 * log(sum(e^x)) of parts: of each the largest x and the sum of e^(x - largest), then of all
 * (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018).
 */

#include <Halide.h>

#include "math/compare.h"
#include "math/exp.h"
#include "math/log.h"

namespace halyard {

/** Where the search for the largest starts, and where it ends. Both are finite, so that no difference to them is NaN:
 * e^(-infinity - largest) is 0, and what is +infinity or NaN comes out of the sum. One number inside of the range of f32: LLVM, which
 * is told that there are no infinities, would leave out a maximum or minimum of its ends. */
constexpr float kLargestFinite = 0x1.fffffcp127f;

inline Halide::Expr least_largest() {
    return -kLargestFinite;
}
inline Halide::Expr finite_largest(const Halide::Expr &largest) {
    return min(largest, kLargestFinite);
}

/** The part's sum, as a share of all. */
inline Halide::Expr rescaled(const Halide::Expr &sum, const Halide::Expr &largest_of_part, const Halide::Expr &largest,
                             const Halide::Target &target = {}) {
    return sum * exp_f32(largest_of_part - largest, target);
}

inline Halide::Expr logsumexp(const Halide::Expr &largest, const Halide::Expr &sum) {
    return largest + log_f32(sum);
}

/** logsumexp - x for one of the x: a distance from the largest, so that a small one keeps its digits. NaN where there is no
 * largest: all are -infinity, or one is +infinity or NaN. */
inline Halide::Expr logsumexp_minus(const Halide::Expr &x, const Halide::Expr &largest, const Halide::Expr &log_sum) {
    using namespace Halide;
    // No distance is above 0; the min keeps fast-math from adding to `largest` first.
    const Expr is_finite = (f32_bits(log_sum) & 0x7fffffff) < 0x7f800000;
    return select(is_finite, log_sum - min(x - largest, 0.0f), reinterpret<float>(Expr(0x7fc00000)));
}

}  // namespace halyard

#endif
