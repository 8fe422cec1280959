#ifndef HALYARD_MATH_ORDER_H
#define HALYARD_MATH_ORDER_H

/** \file
 * Numbers with their places as integers in the order of a ranking, so that the best k are found by
 * maxima of integers: in SIMD lanes, in any grouping, with ties and NaN in their places.
 */

#include <cstdint>
#include <limits>

#include <Halide.h>

namespace halyard {

/** An integer in the order of x; every NaN is larger than all numbers, as torch.topk has it. */
inline Halide::Expr order_key(const Halide::Expr &x) {
    using namespace Halide;
    const Expr bits = reinterpret<int32_t>(x);
    const Expr magnitude = bits & 0x7fffffff;
    return select(magnitude > 0x7f800000, 0x7fc00000, bits < 0, -magnitude, magnitude);  // -0 is 0
}

/** x, but for the payload of a NaN, which is one that rounding to bf16 leaves alone. */
inline Halide::Expr from_order_key(const Halide::Expr &key) {
    using namespace Halide;
    return reinterpret<float>(select(key < 0, INT32_MIN - key, key));  // -magnitude | sign
}

/** The order_key of -infinity: what a maximum of keys begins with where nothing and -infinity are the same. */
inline Halide::Expr lowest_order() {
    return Halide::Expr(-0x7f800000);
}

/** The order_key of nothing: less than that of any number. */
inline Halide::Expr no_order() {
    return Halide::Expr(INT32_MIN);
}

/** The key of nothing: -infinity at index -1. */
inline Halide::Expr no_rank() {
    return Halide::Internal::make_const(Halide::Int(64), std::numeric_limits<int64_t>::min());
}

/** The larger order_key is first, then the lower index (not negative). */
inline Halide::Expr rank_key(const Halide::Expr &order, const Halide::Expr &index) {
    using namespace Halide;
    return select(order == no_order(), no_rank(), (cast<int64_t>(order) << 32) | cast<int64_t>(0x7fffffff - index));
}
/** The order_key of a rank. */
inline Halide::Expr rank_order(const Halide::Expr &key) {
    return Halide::cast<int32_t>(key >> 32);
}
inline Halide::Expr rank_value(const Halide::Expr &key) {
    using namespace Halide;
    return select(key == no_rank(), Float(32).min(), from_order_key(rank_order(key)));
}
inline Halide::Expr rank_index(const Halide::Expr &key) {
    using namespace Halide;
    return select(key == no_rank(), -1, 0x7fffffff - cast<int32_t>(key & 0x7fffffff));
}

/** Place i of a sorted list after `key` was put in, where `place` gives what was in each place. Taken from
 * the last place to the first, in one list: a step reads the place before and writes its own. */
inline Halide::Expr ranked_in(const Halide::Expr &i, const Halide::Expr &key, const Halide::Expr &here, const Halide::Expr &before) {
    using namespace Halide;
    return max(here, select(i == 0, key, min(key, before)));
}

}  // namespace halyard

#endif
