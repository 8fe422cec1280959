#ifndef HALYARD_MATH_QUANTIZE_H
#define HALYARD_MATH_QUANTIZE_H

/** \file
 * Outputs of 8 bits: q = clamp(round(v / scale) + zero_point), as ONNX's QuantizeLinear has it, or v / scale in floating point of
 * 8 bits; and tensors of 8 bits that are added to a result.
 */

#include <map>
#include <string>
#include <vector>

#include <Halide.h>

#include "math/compare.h"
#include "math/elements.h"
#include "math/float8_rounding.h"

namespace halyard {

/** What an op stores: its storage type, another one, or 8 bits, of which those in floating point are bytes to Halide. */
enum class OutputType { kSame, kF32, kF16, kBF16, kU8, kS8, kE4M3, kE5M2 };

/** An integer, which has a zero point. */
inline bool is_quantized(OutputType output) {
    return output == OutputType::kU8 || output == OutputType::kS8;
}

inline bool is_float8(OutputType output) {
    return output == OutputType::kE4M3 || output == OutputType::kE5M2;
}

inline Float8 float8_of(OutputType output) {
    return output == OutputType::kE4M3 ? Float8::kE4M3 : Float8::kE5M2;
}

inline std::map<std::string, OutputType> output_types() {
    return {{"same", OutputType::kSame},        {"float32", OutputType::kF32},     {"float16", OutputType::kF16},
            {"bfloat16", OutputType::kBF16},    {"uint8", OutputType::kU8},        {"int8", OutputType::kS8},
            {"float8_e4m3", OutputType::kE4M3}, {"float8_e5m2", OutputType::kE5M2}};
}

/** Numbers with a scale in common, where blocks have one. */
constexpr int kScaleBlock = 128;

/** Whose scale and zero point rows of 8 bits have: the whole tensor's, or each its own. */
enum class Scaling { kTensor, kRow };

inline std::map<std::string, Scaling> scalings() {
    return {{"tensor", Scaling::kTensor}, {"row", Scaling::kRow}};
}

inline Halide::Type stored_type(OutputType output, const Halide::Type &type) {
    switch (output) {
    case OutputType::kF32: return Halide::Float(32);
    case OutputType::kF16: return Halide::Float(16);
    case OutputType::kBF16: return Halide::BFloat(16);
    case OutputType::kU8:
    case OutputType::kE4M3:
    case OutputType::kE5M2: return Halide::UInt(8);
    case OutputType::kS8: return Halide::Int(8);
    default: return type;
    }
}

/** v as int32 in [low, high] after adding zero_point: v is rounded to nearest, ties to even, and what
 * lies outside is clamped, infinities too. A NaN gives zero_point, which stands for 0.
 *
 * v is clamped first, to what gives low and high, so that adding 1.5 * 2^23 rounds to an integer that stands in
 * the last bits, and nothing is left to clamp. It is taken from there as an integer, so nothing is left either
 * that fast-math could simplify, and no strict_float is needed. zero_point is of the size of 8 bits. */
inline Halide::Expr round_clamped(const Halide::Expr &v, const Halide::Expr &zero_point, int low, int high) {
    using namespace Halide;
    const float kShift = 12582912.0f;
    const Expr bounded = clamp(select(is_nan_f32(v), 0.0f, v), cast<float>(low - zero_point), cast<float>(high - zero_point));
    return f32_bits(bounded + kShift) + (zero_point - f32_bits(kShift));
}

/** `inv_scale` is 1 / scale; `zero_point` an int32, which floating point has not. */
inline Halide::Expr quantize(OutputType output, const Halide::Expr &v, const Halide::Expr &inv_scale, const Halide::Expr &zero_point,
                             const Halide::Target &target = {}) {
    using namespace Halide;
    if (is_float8(output)) {
        return float8_of_f32(float8_of(output), v * inv_scale, target);
    }
    return output == OutputType::kU8 ? cast<uint8_t>(round_clamped(v * inv_scale, zero_point, 0, 255))
                                     : cast<int8_t>(round_clamped(v * inv_scale, zero_point, -128, 127));
}

/** How an output is stored, with the scale and zero point of one of 8 bits as inputs of a generator. */
class Stored {
public:
    /** Adds NAME_scale and NAME_zero_point where they are needed; `type` is the storage type. */
    void add_to(Halide::Internal::GeneratorBase &generator, const std::string &name, OutputType output, const Halide::Type &type) {
        output_ = output;
        type_ = stored_type(output, type);
        if (is_quantized(output) || is_float8(output)) {
            scale_ = generator.add_input<float>(name + "_scale");
        }
        if (is_quantized(output)) {
            zero_point_ = generator.add_input<int32_t>(name + "_zero_point");
        }
    }

    Halide::Expr operator()(const Halide::Expr &v, const Halide::Target &target) const {
        return scale_ ? quantize(output_, v, 1.0f / *scale_, zero_point_ ? Halide::Expr(*zero_point_) : 0, target) : store_as(type_, v);
    }

private:
    OutputType output_ = OutputType::kSame;
    Halide::Type type_;
    Halide::GeneratorInput<float> *scale_ = nullptr;
    Halide::GeneratorInput<int32_t> *zero_point_ = nullptr;
};

/** What a tensor that is added to a result may be stored as: the storage type, or 8 bits. */
inline std::map<std::string, OutputType> added_types() {
    return {{"same", OutputType::kSame}, {"uint8", OutputType::kU8}, {"int8", OutputType::kS8}};
}

/** A tensor that is added to a result, with the scale and zero point of one of 8 bits as inputs of a generator:
 * (q - zero_point) * scale, ONNX's DequantizeLinear. */
class Added {
public:
    /** Adds NAME, and NAME_scale and NAME_zero_point where they are needed; `type` is the storage type. */
    void add_to(Halide::Internal::GeneratorBase &generator, const std::string &name, OutputType stored, const Halide::Type &type,
                int rank) {
        tensor_ = generator.add_input<Halide::Buffer<>>(name, stored_type(stored, type), rank);
        if (is_quantized(stored)) {
            scale_ = generator.add_input<float>(name + "_scale");
            zero_point_ = generator.add_input<int32_t>(name + "_zero_point");
        }
    }

    /** Whether there is one. */
    explicit operator bool() const {
        return tensor_ != nullptr;
    }

    Halide::Expr at(const std::vector<Halide::Expr> &index) const {
        using namespace Halide;
        const Expr q = (*tensor_)(index);
        return scale_ ? cast<float>(cast<int32_t>(q) - *zero_point_) * *scale_ : load_f32(q);
    }

private:
    Halide::GeneratorInput<Halide::Buffer<>> *tensor_ = nullptr;
    Halide::GeneratorInput<float> *scale_ = nullptr;
    Halide::GeneratorInput<int32_t> *zero_point_ = nullptr;
};

}  // namespace halyard

#endif
