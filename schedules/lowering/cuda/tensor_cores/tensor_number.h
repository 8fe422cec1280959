#ifndef HALYARD_LOWERING_CUDA_TENSOR_NUMBER_H
#define HALYARD_LOWERING_CUDA_TENSOR_NUMBER_H

/** \file
 * How the tensor cores read the elements of an operand: as what they are, or as numbers that Halide has no type for, which a generator
 * makes f32 of.
 */

#include <optional>
#include <string>
#include <utility>

#include <Halide.h>

namespace halyard {

struct TensorNumber {
    enum Format {
        kStored,
        kTF32,  // of float32: without its last 13 bits, as cut_to_tf32() of generators/math/elements.h has it
        kE4M3,  // of uint8, as f32_of_float8() of generators/math/float8.h has it
        kE5M2,
    };
    Halide::Type type;  // of the elements in memory
    Format format = kStored;

    bool operator==(const TensorNumber &other) const {
        return type == other.type && format == other.format;
    }
    /** An integer of 8 bits. */
    bool is_byte() const {
        return type.is_int_or_uint() && type.bits() == 8 && !is_float8();
    }
    bool is_float8() const {
        return format == kE4M3 || format == kE5M2;
    }
    /** float16 or bfloat16. */
    bool is_half() const {
        return type.is_float() && type.bits() == 16;
    }
    /** What the tensor cores sum products in. */
    Halide::Type sum() const {
        return is_byte() ? Halide::Int(32) : Halide::Float(32);
    }
    /** In kernels, .. */
    std::string text() const;
    /** .. in PTX, and in messages. */
    std::string ptx() const;
    std::string name() const;
};

/** A factor of a product. */
struct FactorOfProduct {
    TensorNumber::Format format = TensorNumber::kStored;
    Halide::Expr element;  // of what is in memory, or computed
};

/** Reads both factors of a product by their formats. Numbers of 8 bits are multiplied by each other alone, with `times` what the simplifier
 * takes out of them, or undefined; others are elements themselves. Nothing, where another constant is left. */
std::optional<std::pair<FactorOfProduct, FactorOfProduct>> factors_of_product(const Halide::Expr &a, const Halide::Expr &b,
                                                                              const Halide::Expr &times);

}  // namespace halyard

#endif
