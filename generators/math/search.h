#ifndef HALYARD_MATH_SEARCH_H
#define HALYARD_MATH_SEARCH_H

/** \file
 * A search among numbers in ascending order.
 */

#include <Halide.h>

namespace halyard {

/** found(at) = the last number below 2^bits, and below `count`, for which holds(number), or 0: digit by digit, in the loop "bit". What holds for a
 * number holds for all below it. holds() is not asked for numbers from `count` on, but its reads may be computed there. */
template<typename Holds>
void find_last(Halide::Func &found, const Halide::Var &at, int bits, const Halide::Expr &count, const Holds &holds) {
    using namespace Halide;
    found(at) = 0;
    RDom bit(0, bits, "bit");
    const Expr next = found(at) + (Expr(1 << (bits - 1)) >> bit);
    found(at) = select(next < count && holds(next), next, found(at));
}

}  // namespace halyard

#endif
