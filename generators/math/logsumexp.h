#ifndef HALYARD_MATH_LOGSUMEXP_H
#define HALYARD_MATH_LOGSUMEXP_H

/** \file
 * log(sum(e^x)) of parts: of each the largest x and the sum of e^(x - largest), then of all
 * (Milakov and Gimelshein, Online normalizer calculation for softmax, 2018).
 */

#include <Halide.h>

#include "math/exp.h"
#include "math/log.h"

namespace halyard {

/** Where the search for the largest starts. It stays finite, so that no difference to it is NaN:
 * e^(-infinity - largest) is 0, and what is +infinity or NaN comes out of the sum. So does what is beyond
 * 1e30. The largest f32 in its place overflowed where LLVM multiplied out log2(e) (x - largest). */
inline Halide::Expr least_largest() {
    return -1e30f;
}
inline Halide::Expr finite_largest(const Halide::Expr &largest) {
    return min(largest, 1e30f);
}

/** The part's sum, as a share of all. */
inline Halide::Expr rescaled(const Halide::Expr &sum, const Halide::Expr &largest_of_part, const Halide::Expr &largest,
                             const Halide::Target &target = {}) {
    return sum * exp_f32(largest_of_part - largest, target);
}

inline Halide::Expr logsumexp(const Halide::Expr &largest, const Halide::Expr &sum) {
    return largest + log_f32(sum);
}

}  // namespace halyard

#endif
