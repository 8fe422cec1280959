#ifndef HALYARD_MATH_OWN_SCALE_H
#define HALYARD_MATH_OWN_SCALE_H

/** \file
 * Outputs of 8 bits whose scales are computed with them: the largest magnitude that a scale is for becomes the largest number of
 * the type, as products with scales of rows or of blocks take their operands (gemm_int8, gemm_fp8).
 */

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <Halide.h>

#include "math/own_rounding.h"
#include "math/quantize.h"

namespace halyard {

/** What has a scale: the whole tensor, where it is given; a row; or each kScaleBlock columns of a row. */
enum class ScaleOf { kTensor, kRow, kBlock };

inline std::map<std::string, ScaleOf> scales_of() {
    return {{"tensor", ScaleOf::kTensor}, {"row", ScaleOf::kRow}, {"block", ScaleOf::kBlock}};
}

/** A magnitude as an integer, in the order of magnitudes: a NaN is the largest, where a maximum of floats forgets what it had before
 * one. */
inline Halide::Expr magnitude_bits(const Halide::Expr &value) {
    return f32_bits(value) & 0x7fffffff;
}

/** The largest number of a symmetric type of 8 bits. */
inline float largest_8_bit(OutputType output) {
    return is_float8(output) ? largest_float8(float8_of(output)) : 127.0f;
}

/** The scale by which `largest` becomes the largest number of the type, */
inline Halide::Expr own_scale_of(OutputType output, const Halide::Expr &largest) {
    return largest * (1 / largest_8_bit(output));
}

/** and what is multiplied by for it. Of what rounds to a scale of 0, all is 0; of a NaN, all is NaN, or 0 of integers. */
inline Halide::Expr inverse_own_scale(OutputType output, const Halide::Expr &largest) {
    const float most = largest_8_bit(output);
    return is_float8(output) ? Halide::select(magnitude_bits(largest) < f32_bits(most * 0x1p-126f), 0.0f, most / largest) : most / largest;
}

/** The scales of an output y [cols, rows], of f32: row_scale [rows], or block_scale [ceil(cols / 128), rows]. */
class OwnScale {
public:
    /** Adds the output that the scales are, where they are not of the tensor. They are symmetric: int8 or floating point. */
    void add_to(Halide::Internal::GeneratorBase &generator, OutputType output, ScaleOf scaling) {
        using namespace Halide;
        output_ = output;
        scaling_ = scaling;
        if (scaling == ScaleOf::kTensor) {
            return;
        }
        if (output != OutputType::kS8 && !is_float8(output)) {
            throw CompileError("scaling=row and scaling=block are symmetric: they need output=int8, float8_e4m3 or float8_e5m2");
        }
        const bool row = scaling == ScaleOf::kRow;
        scales_ = generator.add_output<Buffer<>>(row ? "row_scale" : "block_scale", Float(32), row ? 1 : 2);
    }

    /** Whether there are such scales. */
    explicit operator bool() const {
        return scales_ != nullptr;
    }

    /** y(col, row), where it is to be element(col) * factor, a positive number of the row. An element that is NaN makes its
     * scale NaN, and one that is infinite its scale infinite; of zeros the scale is 0. */
    Halide::Expr operator()(const std::function<Halide::Expr(const Halide::Expr &)> &element, const Halide::Expr &factor,
                            const Halide::Var &col, const Halide::Var &row, const Halide::Expr &cols, const Halide::OutputImageParam &y,
                            const Halide::Target &target) {
        using namespace Halide;
        const auto magnitude = [&](const Expr &at) { return magnitude_bits(element(at)); };
        std::vector<Expr> of = {row}, of_col = {row};
        if (scaling_ == ScaleOf::kRow) {
            RDom r(0, cols, "col");
            peak_(row) = 0;
            peak_(row) = max(peak_(row), magnitude(r));
        } else {
            of = {block_, row};
            of_col = {col / kScaleBlock, row};
            RDom r(0, kScaleBlock, "col");
            const Expr at = block_ * kScaleBlock + r;
            r.where(likely(at < cols));
            peak_(of) = 0;
            peak_(of) = max(peak_(of), magnitude(unsafe_promise_clamped(at, 0, cols - 1)));
        }
        // In this order, whatever loops rows lie in: the compiler would multiply three numbers in any.
        const auto times_factor = [&](const Expr &v) { return Internal::is_const_one(factor) ? v : own_product(v, factor, target); };
        const Expr largest = times_factor(reinterpret<float>(peak_(of)));
        (*scales_)(of) = own_scale_of(output_, largest);
        inv_scale_(of) = inverse_own_scale(output_, largest);
        const int rows_at = int(of.size()) - 1;
        scales_->dim(rows_at).set_bounds(y.dim(1).min(), y.dim(1).extent());
        if (scaling_ == ScaleOf::kBlock) {
            scales_->dim(0).set_bounds(0, (cols + (kScaleBlock - 1)) / kScaleBlock);
        }
        return quantize(output_, times_factor(element(col)), inv_scale_(of_col), 0, target);
    }

private:
    OutputType output_ = OutputType::kSame;
    ScaleOf scaling_ = ScaleOf::kTensor;
    Halide::GeneratorOutput<Halide::Buffer<>> *scales_ = nullptr;
    Halide::Var block_{"block"};
    Halide::Func peak_{"peak"}, inv_scale_{"inv_scale"};
};

}  // namespace halyard

#endif
