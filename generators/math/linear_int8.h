#ifndef HALYARD_MATH_LINEAR_INT8_H
#define HALYARD_MATH_LINEAR_INT8_H

/** \file
 * Products of rows and weights of 8 bits: the sums, exact in 32 bits, and what they stand for,
 *
 *   scale[row] * w_scale[col] * (sum over k of (x[row, k] - zero_point[row]) * w[k, col])
 *
 * Rows are asymmetric, with one scale and zero point for all or for each; weights are symmetric, with a scale for each
 * column (Jacob et al., Quantization and Training of Neural Networks, 2018, equation 7, with Z2 = 0). The zero point
 * is taken out of the sum over x * w by the sum of each column of weights.
 */

#include <Halide.h>

#include "math/linear.h"
#include "math/own_rounding.h"
#include "math/quantize.h"
#include "math/weights.h"

namespace halyard {

/** Instructions for packed weights multiply unsigned with signed: signed rows are taken so much higher. */
inline int raised(const Halide::Type &rows, WeightLayout layout) {
    return layout == WeightLayout::kPacked && rows == Halide::Int(8) ? 128 : 0;
}

/** How the rows of a product are given: uint8 or int8, with their scale and zero point as inputs of a generator. */
class RowsInt8 {
public:
    /** Adds NAME_scale or NAME_scale_row [m], and likewise the zero point; without one, rows are symmetric. */
    void add_to(Halide::Internal::GeneratorBase &generator, const std::string &name, const Halide::Type &type, WeightLayout layout,
                Scaling scaling, bool zero_point) {
        using namespace Halide;
        if (type != UInt(8) && type != Int(8)) {
            throw CompileError(name + "_type is uint8 or int8");
        }
        raised_ = raised(type, layout);
        if (scaling == Scaling::kRow) {
            scales_ = generator.add_input<Buffer<float, 1>>(name + "_scale_row");
        } else {
            scale_ = generator.add_input<float>(name + "_scale");
        }
        if (zero_point && scaling == Scaling::kRow) {
            zero_points_ = generator.add_input<Buffer<int32_t, 1>>(name + "_zero_point_row");
        } else if (zero_point) {
            zero_point_ = generator.add_input<int32_t>(name + "_zero_point");
        }
    }

    /** Whether zero() is not 0, for which weights need their sums. */
    bool have_zero() const {
        return zero_points_ || zero_point_ || raised_ > 0;
    }

    /** An element as it is multiplied. */
    Halide::Expr element(const Halide::Expr &stored) const {
        using namespace Halide;
        return raised_ == 0 ? stored : cast<uint8_t>(stored) ^ cast<uint8_t>(raised_);
    }

    /** What stands for 0 in the elements of a row. */
    Halide::Expr zero(const Halide::Expr &row) const {
        return raised_ + (zero_points_ ? (*zero_points_)(row) : zero_point_ ? Halide::Expr(*zero_point_) : 0);
    }

    Halide::Expr scale(const Halide::Expr &row) const {
        return scales_ ? (*scales_)(row) : Halide::Expr(*scale_);
    }

private:
    int raised_ = 0;
    Halide::GeneratorInput<Halide::Buffer<float, 1>> *scales_ = nullptr;
    Halide::GeneratorInput<float> *scale_ = nullptr;
    Halide::GeneratorInput<Halide::Buffer<int32_t, 1>> *zero_points_ = nullptr;
    Halide::GeneratorInput<int32_t> *zero_point_ = nullptr;
};

/** The weights: packed, for instructions that take four neighbours along k; or nk, for those that take many. */
class LinearInt8 {
public:
    static constexpr int kGroup = 4;

    /** Adds NAME in its layout, NAME_scale [n] and, for rows whose zero is not 0, NAME_sum [n]: the sum of each column. */
    void add_to(Halide::Internal::GeneratorBase &generator, const std::string &name, WeightLayout layout, int panel, bool rows_have_zero,
                const Halide::Target &target) {
        using namespace Halide;
        layout_ = layout;
        panel_ = panel;
        on_gpu_ = target.has_gpu_feature();
        weights_ = generator.add_input<Buffer<>>(weights_name(name, layout), Int(8), weights_rank(layout));
        scale_ = generator.add_input<Buffer<float, 1>>(name + "_scale");
        if (rows_have_zero) {
            sum_ = generator.add_input<Buffer<int32_t, 1>>(name + "_sum");
        }
    }

    /** Weight (k, col). On a GPU columns beyond the last are read as the last one, so that a schedule may round them up
     * beyond a panel. */
    Halide::Expr at(const Halide::Expr &k, const Halide::Expr &col, const Halide::Expr &columns) const {
        return weight_at(*weights_, layout_, panel_, k, on_gpu_ ? min(col, columns - 1) : col, columns);
    }

    /** acc(col, row) += sum over k of x(k) * weight(k, col), where x gives elements as they are multiplied. */
    template<typename X>
    void multiply(const Halide::FuncRef &acc, const Halide::Expr &depth, const Halide::Expr &col, const Halide::Expr &columns,
                  const X &x) const {
        using namespace Halide;
        // Of a depth below 0, which is an error of the rows, none below 0: that would read as one of the weights.
        accumulate(acc, layout_ == WeightLayout::kPacked ? kGroup : 1, max(depth, 0),
                   [&](const Expr &k) { return cast<int32_t>(x(k)) * cast<int32_t>(at(k, col, columns)); });
        constrain(depth);
    }

    /** What a call checks. */
    void constrain(const Halide::Expr &depth) const {
        constrain_weights(*weights_, layout_, panel_, depth);
    }

    /** A sum without what the zero of its row adds to it, as f32. */
    Halide::Expr centred(const Halide::Expr &sum, const Halide::Expr &col, const Halide::Expr &zero) const {
        return Halide::cast<float>(sum_ ? sum - zero * (*sum_)(col) : sum);
    }

    /** What `centred` stands for, where `scale` is that of its row. */
    Halide::Expr scaled(const Halide::Expr &centred, const Halide::Expr &col, const Halide::Expr &scale) const {
        return own_product(centred, own_product(scale, (*scale_)(col)));
    }

    /** What a sum stands for, where `scale` and `zero` are those of its row. */
    Halide::Expr dequantize(const Halide::Expr &sum, const Halide::Expr &col, const Halide::Expr &scale, const Halide::Expr &zero) const {
        return scaled(centred(sum, col, zero), col, scale);
    }

private:
    WeightLayout layout_ = WeightLayout::kPacked;
    int panel_ = 0;
    bool on_gpu_ = false;
    Halide::GeneratorInput<Halide::Buffer<>> *weights_ = nullptr;
    Halide::GeneratorInput<Halide::Buffer<float, 1>> *scale_ = nullptr;
    Halide::GeneratorInput<Halide::Buffer<int32_t, 1>> *sum_ = nullptr;
};

}  // namespace halyard

#endif
