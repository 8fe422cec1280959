#ifndef HALYARD_LLM_HEAD_ROUNDING_H
#define HALYARD_LLM_HEAD_ROUNDING_H

/** \file
 * Heads of keys and values in 8 bits: multiples of their largest element by 127.
 */

#include <Halide.h>

namespace halyard_llm {

constexpr float kMostOf8Bits = 127;

/** What elements of a head are multiples of, of the largest of their absolute values. */
inline Halide::Expr head_scale(const Halide::Expr &largest) {
    return largest / kMostOf8Bits;
}

/** What they are multiplied by before they are rounded; 0 of a head of zeros. */
inline Halide::Expr inverse_head_scale(const Halide::Expr &largest) {
    return Halide::select(largest > 0, kMostOf8Bits / largest, 0.0f);
}

inline Halide::Expr rounded_to_8_bits(const Halide::Expr &value, const Halide::Expr &inverse) {
    return Halide::cast<int8_t>(Halide::clamp(Halide::round(value * inverse), -kMostOf8Bits, kMostOf8Bits));
}

}  // namespace halyard_llm

#endif
