#ifndef HALYARD_MATH_ELEMENTS_H
#define HALYARD_MATH_ELEMENTS_H

/** \file
 * Element types. Storage is f32, f16 or bf16; everything in between is f32.
 */

#include <sstream>

#include <Halide.h>

namespace halyard {

inline Halide::Expr load_f32(const Halide::Expr &stored) {
    return Halide::cast<float>(stored);
}

inline Halide::Expr store_as(Halide::Type type, const Halide::Expr &value) {
    return Halide::cast(type, value);
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
