#ifndef HALYARD_MATH_ELEMENTS_H
#define HALYARD_MATH_ELEMENTS_H

/** \file
 * Element types. Storage is f32, f16 or bf16; everything in between is f32.
 */

#include <map>
#include <sstream>
#include <string>

#include <Halide.h>

namespace halyard {

inline Halide::Expr load_f32(const Halide::Expr &stored) {
    return Halide::cast<float>(stored);
}

inline Halide::Expr store_as(Halide::Type type, const Halide::Expr &value) {
    return Halide::cast(type, value);
}

/** What f32 is for a product by bf16 on the host. exact: f32, or two_bf16 where that is what instructions multiply. two_bf16:
 * the sum of two, off by 2^-16. bf16: rounded, off by 2^-9: the product is then off by 1e-3 to 2e-3 of its norm, as it is in
 * other libraries. */
enum class FactorType { kExact, kTwoBF16, kBF16 };

inline std::map<std::string, FactorType> factor_types() {
    return {{"exact", FactorType::kExact}, {"two_bf16", FactorType::kTwoBF16}, {"bf16", FactorType::kBF16}};
}

/** Part 0 or 1 of the two of bf16 whose sum is `value`. Part 0 is cut off, and part 1 has 2^-20 of the value in it, so that both
 * have its sign and none is 0 where the other is not: times an infinity they are that infinity.
 *
 * finite    value is; of an infinity or a NaN part 1 is 0 otherwise */
inline Halide::Expr part_in_bf16(const Halide::Expr &value, const Halide::Expr &part, bool finite) {
    using namespace Halide;
    const Expr bits = reinterpret<uint32_t>(value), high = reinterpret<float>(bits & Expr(uint32_t(0xffff0000)));
    const Expr rest = value * (1 + 0x1p-20f) - high;
    const Expr low = finite ? rest : select((bits & Expr(0x7f800000u)) == Expr(0x7f800000u), 0.0f, rest);
    return select(part == 0, reinterpret(BFloat(16), cast<uint16_t>(bits >> 16)), store_as(BFloat(16), low));
}

/** One of the three bfloat16 that an f32 is the sum of, the largest first: 8 bits of its mantissa each, cut off, so that nothing is rounded
 * but what is below the smallest of them. An infinity is the first, and NaN all. */
inline Halide::Expr third_in_bf16(const Halide::Expr &value, int which) {
    using namespace Halide;
    const auto cut = [](const Expr &f32) { return reinterpret<uint32_t>(f32) & Expr(uint32_t(0xffff0000)); };
    Expr rest = value;
    for (int i = 0; i < which; i++) {
        rest = rest - reinterpret<float>(cut(rest));
        rest = i > 0 ? rest : select(abs(value) == Float(32).max() * 2.0f, 0.0f, rest);
    }
    return reinterpret(BFloat(16), cast<uint16_t>(reinterpret<uint32_t>(rest) >> Expr(uint32_t(16))));
}

/** An f32 cut to TF32, 10 bits of mantissa, toward zero: what tensor cores take of f32 operands (PTX ISA, "Alternate
 * floating point data formats"). */
inline Halide::Expr cut_to_tf32(const Halide::Expr &value) {
    const Halide::Expr bits = Halide::reinterpret<uint32_t>(value);
    return Halide::reinterpret<float>(bits & Halide::Expr(uint32_t(0xffffe000)));
}

/** Fails where `type` is none of the storage types. */
inline Halide::Type storage_type(const Halide::Type &type) {
    if (type != Halide::Float(32) && type != Halide::Float(16) && type != Halide::BFloat(16)) {
        std::ostringstream message;
        message << "type is float32, float16 or bfloat16, not " << type;
        throw Halide::CompileError(message.str());
    }
    return type;
}

}  // namespace halyard

#endif
