#ifndef HALYARD_LOWERING_CUDA_FUSED_TERMS_H
#define HALYARD_LOWERING_CUDA_FUSED_TERMS_H

/** \file
 * Values in nests of fused products as sums and products.
 */

#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

/** The call, where it is one of exp2_f32. */
const Halide::Internal::Call *exponential(const Halide::Expr &e);

void factors_of(const Halide::Expr &e, std::vector<Halide::Expr> &factors);
Halide::Expr product_of(const std::vector<Halide::Expr> &factors);

/** rest + f * name: rest and f. f is undefined where the value is not of that form, with f and rest free of it. */
struct LinearIn {
    Halide::Expr rest, factor;
};
LinearIn linear_in(const Halide::Expr &value, const std::string &name);

}  // namespace halyard

#endif
