#ifndef HALYARD_MATH_OWN_ROUNDING_H
#define HALYARD_MATH_OWN_ROUNDING_H

/** \file
 * Products and sums that are rounded by themselves. The compiler multiplies three numbers in any order, and of a b + c d it fuses either product
 * with the sum; in the loops of few rows and of many it chooses differently, and a row's result would depend on how many there are.
 */

#include <Halide.h>

namespace halyard {

/** a + b, with nothing else that is added to it. Of f32. */
inline Halide::Expr own_sum(const Halide::Expr &a, const Halide::Expr &b) {
    using namespace Halide::Internal;
    return Call::make(a.type(), Call::strict_add, {a, b}, Call::PureIntrinsic);
}

/** a b, in no other order and not fused with a sum. Of f32. */
inline Halide::Expr own_product(const Halide::Expr &a, const Halide::Expr &b) {
    using namespace Halide::Internal;
    return Call::make(a.type(), Call::strict_mul, {a, b}, Call::PureIntrinsic);
}

/** The same where LLVM compiles; what compiles kernels for a GPU keeps to the order that is written. */
inline Halide::Expr own_sum(const Halide::Expr &a, const Halide::Expr &b, const Halide::Target &target) {
    return target.has_gpu_feature() ? a + b : own_sum(a, b);
}
inline Halide::Expr own_product(const Halide::Expr &a, const Halide::Expr &b, const Halide::Target &target) {
    return target.has_gpu_feature() ? a * b : own_product(a, b);
}

}  // namespace halyard

#endif
