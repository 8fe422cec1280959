#ifndef HALYARD_LLM_ROTATION_H
#define HALYARD_LLM_ROTATION_H

/** \file
 * Positions of tokens, as rotations of pairs of a head's elements (RoPE, Su et al. 2021).
 */

#include <functional>

#include <Halide.h>

#include "math/trig.h"

namespace halyard_llm {

/** The cosine and the sine of a pair's angle, computed in f64. */
inline Halide::Tuple angle_of(const Halide::Expr &position, const Halide::Expr &frequency) {
    const Halide::Expr angle = Halide::cast<double>(position) * Halide::cast<double>(frequency);
    return {halyard::sin_quarters_f64(angle, 1), halyard::sin_quarters_f64(angle, 0)};
}

/** Which elements are pairs: the first 2 * `pairs` of `width`; (i, i + pairs) in `halves`, and neighbours else. The rest is as it was. */
struct Pairs {
    Halide::Expr pairs, width;
    bool halves;
};

/** Element i of a head x that is turned. `angle` has the cosine and the sine of a pair. */
inline Halide::Expr rotated(const Pairs &p, const Halide::Expr &i, const std::function<Halide::Expr(Halide::Expr)> &x,
                            const std::function<Halide::Tuple(Halide::Expr)> &angle) {
    using namespace Halide;
    const Expr last = max(p.pairs - 1, 0), turns = i < 2 * p.pairs;
    const Expr at = clamp(p.halves ? select(i < p.pairs, i, i - p.pairs) : i / 2, 0, last);
    const Expr second = p.halves ? i >= p.pairs : i % 2 == 1;
    const Expr partner = p.halves ? select(second, i - p.pairs, i + p.pairs) : i + 1 - 2 * (i % 2);
    const Expr xi = x(i), xp = x(unsafe_promise_clamped(select(turns, partner, i), 0, p.width - 1));
    const Tuple turn = angle(at);
    return select(turns, xi * turn[0] + select(second, xp, -xp) * turn[1], xi);
}

}  // namespace halyard_llm

#endif
