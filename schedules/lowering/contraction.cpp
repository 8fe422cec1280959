#include "lowering/contraction.h"

#include <utility>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

std::optional<Contraction> contraction(const Expr &value, const std::function<bool(const Expr &)> &is_sum) {
    const auto *add = value.as<Add>();
    if (!add) {
        return std::nullopt;
    }
    for (const auto &[sum, rest] : {std::pair(add->a, add->b), std::pair(add->b, add->a)}) {
        Expr product = rest;
        while (const auto *cast = product.as<Cast>()) {
            product = cast->value;
        }
        const auto *mul = product.as<Mul>();
        Expr times;
        // The simplifier takes constants out of factors.
        if (const auto *inner = mul && is_const(mul->b) ? mul->a.as<Mul>() : nullptr) {
            times = mul->b;
            mul = inner;
        }
        if (mul && is_sum(sum)) {
            return Contraction{mul->a, mul->b, times, rest.as<Cast>() != nullptr};
        }
    }
    return std::nullopt;
}

}  // namespace halyard
