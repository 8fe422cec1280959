#ifndef HALYARD_LOWERING_CONTRACTION_H
#define HALYARD_LOWERING_CONTRACTION_H

/** \file
 * The update of a contraction, such as a product of matrices or a convolution:
 *
 *   sum += a * b                or    sum += a * b * 65536, a constant
 *
 * The lowering for tensor cores and for tiles of the host, the descriptions for the search, and its loops are all decided by what
 * is found here.
 */

#include <functional>
#include <optional>

#include <Halide.h>

namespace halyard {

struct Contraction {
    Halide::Expr a, b;   ///< the factors, with what converts them
    Halide::Expr times;  ///< a constant that the product is multiplied by; undefined: none
    bool converted;      ///< the product is converted before it is added, which rounds or wraps what an instruction would keep
};

/** `value` is all that is stored, and `is_sum` knows what was stored there before. Nothing, where it
 * is no contraction. */
std::optional<Contraction> contraction(const Halide::Expr &value, const std::function<bool(const Halide::Expr &)> &is_sum);

}  // namespace halyard

#endif
