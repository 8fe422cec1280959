// RMSNorm and the product that follows it: y = activation((x / rms(x) * weight) w + bias).
//
// 1 / rms is one factor a row, so it is applied to the sums of the product (Graef et al., FlashNorm, 2024):
// the product starts before the norm is known, and no normalised x is written. `weight` is folded into
// w by the caller, once, or multiplied in here.

#include <Halide.h>

#include "math/activation.h"
#include "math/elements.h"
#include "math/linear.h"
#include "math/number.h"
#include "math/own_rounding.h"
#include "math/rms.h"

namespace {

using namespace Halide;
using namespace halyard;

class RmsNormGemm : public Generator<RmsNormGemm> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    GeneratorParam<WeightLayout> weights{"weights", WeightLayout::kPacked, linear_layouts()};
    Number panel{"panel", 48, 1, 1024};
    GeneratorParam<bool> folded{"folded", true};  // weight is in w
    GeneratorParam<bool> add_bias{"add_bias", false};
    GeneratorParam<Activation> activation{"activation", Activation::kNone, activations()};

    Input<Buffer<void, 2>> x{"x"};           // [k, m]
    Input<Buffer<>> *norm_weight = nullptr;  // weight [k]
    Linear w;
    Input<Buffer<>> *bias = nullptr;  // [n]
    Input<float> eps{"eps"};
    Output<Buffer<void, 2>> y{"y"};  // [n, m]

    void configure() {
        x.set_type(storage_type(type));
        y.set_type(type);
        if (!folded) {
            norm_weight = add_input<Buffer<>>("weight", type, 1);
        }
        w.add_to(*this, "w", weights, panel, type, get_target());
        if (add_bias) {
            bias = add_input<Buffer<>>("bias", type, 1);
        }
    }

    void generate() {
        RDom r(0, x.width(), "k");
        sum_sq(row) += load_f32(x(r, row)) * load_f32(x(r, row));
        inv_rms(row) = inverse_rms(sum_sq(row), x.width(), eps);
        need_rows(*this, get_target(), "x", x.dim(1), y.dim(1));
        const Expr v = load_f32(x(k, row_at(x, row, get_target())));
        weighted(k, row) = folded ? v : own_product(v, load_f32((*norm_weight)(k)), get_target());
        w.multiply(acc(col, row), x.width(), col, y.dim(0).max() + 1, [&](const Expr &d) { return weighted(d, row); });
        // Each rounded by itself: few rows and many have loops of their own.
        const Expr scaled = own_product(acc(col, row), inv_rms(row), get_target());
        linear(col, row) = add_bias ? own_sum(scaled, load_f32((*bias)(col)), get_target()) : scaled;
        y(col, row) = store_as(type, activate(activation, linear(col, row), get_target(), type));
    }

private:
    Var col{"col"}, row{"row"}, k{"k"};
    Func sum_sq{"sum_sq"}, inv_rms{"inv_rms"}, weighted{"weighted"}, acc{"acc"}, linear{"linear"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(RmsNormGemm, rms_norm_gemm)
