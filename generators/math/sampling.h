#ifndef HALYARD_MATH_SAMPLING_H
#define HALYARD_MATH_SAMPLING_H

/** \file
 * Weights of tokens, for draws. A token's weight is e^((logit - largest) / temperature) in units of 2^-40, cut off, an integer: sums of weights
 * are exact in any order, so that a draw has the same bits however its sums are made.
 */

#include <Halide.h>

#include "math/compare.h"
#include "math/exp.h"
#include "math/log.h"
#include "math/order.h"

namespace halyard {

/** The number of an order_key, cut to what differences of which are finite. */
inline Halide::Expr sampling_value(const Halide::Expr &key) {
    const int32_t largest = f32_bits(0x1.fffffcp126f);
    return from_order_key(Halide::clamp(key, -largest, largest));
}

/** How far a key is below the largest logit `top`, times 1 / temperature: 0 or less. */
inline Halide::Expr sampling_distance(const Halide::Expr &key, const Halide::Expr &top, const Halide::Expr &inverse) {
    return Halide::min((sampling_value(key) - top) * inverse, 0.0f);
}

/** e^distance in units of 2^-40, cut off. */
inline Halide::Expr sampling_weight(const Halide::Expr &distance, const Halide::Target &target) {
    using namespace Halide;
    const Expr bits = cast<uint32_t>(f32_bits(exp_nonpositive_f32(distance, target)));
    const Expr mantissa = cast<uint64_t>((bits & 0x7fffffu) | 0x800000u), exponent = bits >> 23;
    return (mantissa << 17) >> cast<uint64_t>(clamp(127 - cast<int32_t>(exponent), 0, 63));
}

/** What the parameters of a draw ask of a row whose largest order_key is `largest`. */
struct SamplingRow {
    SamplingRow(const Halide::Expr &temperature, const Halide::Expr &top_k, const Halide::Expr &min_p, const Halide::Expr &uniform,
                const Halide::Expr &vocab, const Halide::Expr &largest) {
        using namespace Halide;
        const Expr greedy = f32_bits(temperature) <= 0, share = f32_bits(min_p);
        wanted = select(greedy, 1, top_k <= 0 || top_k >= vocab, 0, top_k);
        inverse = select(greedy, 1.0f, min(1.0f / select(greedy, 1.0f, temperature), 1e30f));
        has_any = largest > lowest_order() && largest <= 0x7f800000 && !is_nan_f32(temperature) && (greedy || !is_nan_f32(uniform));
        top = sampling_value(largest);
        least = select(largest >= 0x7f800000, 0x7f800000, lowest_order() + 1);
        log_min_p = select(share <= 0 || share > 0x7f800000, -1e38f, share >= f32_bits(1.0f), 0.0f, log_f32(min_p));
    }

    Halide::Expr wanted;     // how many of the largest; 0 for all
    Halide::Expr inverse;    // 1 / temperature
    Halide::Expr has_any;    // there is a token to draw
    Halide::Expr top;        // sampling_value() of the largest
    Halide::Expr least;      // the key of the least that has a probability: beside an infinity nothing has
    Halide::Expr log_min_p;  // of what is at least so far from the largest, min-p keeps all
};

/** `uniform` in [0, 1), or the next number that is. */
inline Halide::Expr sampling_uniform(const Halide::Expr &uniform) {
    using namespace Halide;
    const Expr bits = f32_bits(uniform);
    return select(bits <= 0, 0.0f, bits >= f32_bits(1.0f), 0x1.fffffep-1f, uniform);
}

/** The weight that top-p keeps, of `all`; all of it from 1 on, and for NaN. */
inline Halide::Expr sampling_goal(const Halide::Expr &top_p, const Halide::Expr &all) {
    using namespace Halide;
    const Expr share = f32_bits(top_p), one = cast<uint64_t>(1);
    const Expr part = cast<uint64_t>(ceil(cast<double>(select(share <= 0, 0.0f, top_p)) * cast<double>(all)));
    return select(share >= f32_bits(1.0f), all, clamp(part, one, max(all, one)));
}

/** A number below `total`, for a uniform one. */
inline Halide::Expr sampling_share(const Halide::Expr &uniform, const Halide::Expr &total) {
    using namespace Halide;
    return min(cast<uint64_t>(cast<double>(uniform) * cast<double>(total)), max(total, cast<uint64_t>(1)) - 1);
}

}  // namespace halyard

#endif
