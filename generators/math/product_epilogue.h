#ifndef HALYARD_MATH_PRODUCT_EPILOGUE_H
#define HALYARD_MATH_PRODUCT_EPILOGUE_H

/** \file
 * What follows a matrix product, as parameters and inputs of its generator: activation(scale * acc + bias) + residual, each part
 * optional and the order free, stored in a type of its own.
 */

#include <map>
#include <string>

#include <Halide.h>

#include "math/activation.h"
#include "math/elements.h"
#include "math/epilogue.h"
#include "math/own_rounding.h"
#include "math/quantize.h"

namespace halyard {

/** What a product is multiplied by: nothing, a number, or one for each column or row. */
enum class ProductScale { kNone, kScalar, kColumn, kRow };

/** A member of a generator, of which its parameters are then parameters. */
class ProductEpilogue {
public:
    Halide::GeneratorParam<ProductScale> scaling{
        "scaling",
        ProductScale::kNone,
        {{"none", ProductScale::kNone}, {"scalar", ProductScale::kScalar}, {"column", ProductScale::kColumn}, {"row", ProductScale::kRow}}};
    Halide::GeneratorParam<bool> add_bias{"add_bias", false};
    Halide::GeneratorParam<Activation> activation{"activation", Activation::kNone, activations()};
    Halide::GeneratorParam<bool> add_residual{"add_residual", false};
    /** Of the steps, as "residual,activation,scale,bias"; storing, and quantising, is last. */
    Halide::GeneratorParam<std::string> order{"order", "scale,bias,activation,residual"};
    Halide::GeneratorParam<OutputType> output{"output", OutputType::kSame, output_types()};

    /** Of the result, where `type` is the storage type. */
    Halide::Type stored_type(const Halide::Type &type) const {
        return halyard::stored_type(output, type);
    }

    /** Adds scale_column [n], scale_row [m] or scale, bias [n], residual [n, m], and what an 8-bit result needs. */
    void add_to(Halide::Internal::GeneratorBase &generator, const Halide::Type &type) {
        using namespace Halide;
        type_ = type;
        if (scaling == ProductScale::kColumn || scaling == ProductScale::kRow) {
            scales_ = generator.add_input<Buffer<>>(scaling == ProductScale::kColumn ? "scale_column" : "scale_row", Float(32), 1);
        } else if (scaling == ProductScale::kScalar) {
            scale_ = generator.add_input<float>("scale");
        }
        if (add_bias) {
            bias_ = generator.add_input<Buffer<>>("bias", type, 1);
        }
        if (add_residual) {
            residual_ = generator.add_input<Buffer<>>("residual", type, 2);
        }
        stored_.add_to(generator, "y", output, type);
    }

    /** The result for a sum of a product. Schedules find the steps "linear" and "activated". */
    Halide::Expr operator()(const Halide::Expr &sum, const Halide::Var &col, const Halide::Var &row, const Halide::Target &target) {
        using namespace Halide;
        // Each step is rounded by itself: few rows and many have loops of their own, where the compiler fuses other ones.
        const auto times_scale = [&](const Expr &v) {
            return scales_  ? own_product(v, (*scales_)(scaling == ProductScale::kColumn ? col : row), target)
                   : scale_ ? own_product(v, *scale_, target)
                            : v;
        };
        const auto plus_bias = [&](const Expr &v) { return bias_ ? own_sum(v, load_f32((*bias_)(col)), target) : v; };
        const auto activate_it = [&](const Expr &v) -> Expr {
            linear_(col, row) = v;
            activated_(col, row) = activate(activation, linear_(col, row), target, stored_type(type_));
            return activated_(col, row);
        };
        const auto plus_residual = [&](const Expr &v) { return residual_ ? own_sum(v, load_f32((*residual_)(col, row)), target) : v; };
        return stored_(
            in_order(order, sum, {{"scale", times_scale}, {"bias", plus_bias}, {"activation", activate_it}, {"residual", plus_residual}}),
            target);
    }

private:
    Halide::Type type_;
    Halide::GeneratorInput<Halide::Buffer<>> *scales_ = nullptr, *bias_ = nullptr, *residual_ = nullptr;
    Halide::GeneratorInput<float> *scale_ = nullptr;
    Stored stored_;
    Halide::Func linear_{"linear"}, activated_{"activated"};
};

}  // namespace halyard

#endif
