// The feed-forward block of swiglu_mlp with its products in 8 bits: RMSNorm, SwiGLU, the product back, and the residual.
// Weights are given in 8 bits; rows are rounded to them here, each by a scale of its own, in two places:
//
//   x_q = round(v * 127 / max |v|)             v = x * weight in f32, over a row: 1 / rms is a factor of all of it, so
//   x_scale = max |v| / 127 / rms(x)           that it is in the scale alone
//   h = activation(x_scale * g) * u            in f32, where g = w_gate_scale * (x_q w_gate) and u likewise; x_scale of
//   h_q = round(h * 127 / max |h|)             the second factor is one of all of the row, too, and in the scale
//   h_scale = max |h| / 127 * x_scale
//   y = h_scale * w_down_scale * (h_q w_down) + residual
//
// Sums are exact, in 32 bits, and nothing else is rounded but in f32, and y to its type. Rounding is to nearest, ties to
// even. A row with a NaN or an infinity gives a row of NaN, as it has no scale; a row of zeros gives the residual.

#include <Halide.h>

#include "math/activation.h"
#include "math/elements.h"
#include "math/linear_int8.h"
#include "math/number.h"
#include "math/own_rounding.h"
#include "math/rms.h"
#include "math/unread.h"

namespace {

using namespace Halide;
using namespace halyard;

class SwigluMlpInt8 : public Generator<SwigluMlpInt8> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // of x, weight, residual and y: float32, float16 or bfloat16
    GeneratorParam<WeightLayout> weights{"weights", WeightLayout::kPacked, linear_layouts()};
    Number panel{"panel", 48, 1, 1024};
    GeneratorParam<bool> folded{"folded", true};  // the norm's weight is in w_gate and w_up
    GeneratorParam<bool> add_residual{"add_residual", true};
    GeneratorParam<Activation> activation{"activation", Activation::kSilu, activations()};

    Input<Buffer<void, 2>> x{"x"};           // [k, m]
    Input<Buffer<>> *norm_weight = nullptr;  // weight [k]
    LinearInt8 w_gate, w_up;                 // k x hidden
    LinearInt8 w_down;                       // hidden x n
    Input<Buffer<>> *residual = nullptr;     // [n, m]
    Input<float> eps{"eps"};
    Input<int32_t> hidden{"hidden"};  // which the padding of packed weights hides
    Output<Buffer<void, 2>> y{"y"};   // [n, m]

    void configure() {
        x.set_type(storage_type(type));
        y.set_type(type);
        if (!folded) {
            norm_weight = add_input<Buffer<>>("weight", type, 1);
        }
        w_gate.add_to(*this, "w_gate", weights, panel, zero() != 0, get_target());
        w_up.add_to(*this, "w_up", weights, panel, zero() != 0, get_target());
        w_down.add_to(*this, "w_down", weights, panel, zero() != 0, get_target());
        if (add_residual) {
            residual = add_input<Buffer<>>("residual", type, 2);
        }
    }

    void generate() {
        read_only_if(
            *this, hidden > 0,
            {weights_name("w_gate", weights), weights_name("w_up", weights), "w_gate_scale", "w_gate_sum", "w_up_scale", "w_up_sum"},
            Granted::kNo);
        need_rows(*this, get_target(), "x", x.dim(1), y.dim(1));
        const RDom r(0, x.width(), "k");
        sum_sq(row) += load_f32(x(r, row)) * load_f32(x(r, row));
        inv_rms(row) = inverse_rms(sum_sq(row), x.width(), eps);
        const Expr v = load_f32(x(col, row));
        weighted(col, row) = folded ? v : own_product(v, load_f32((*norm_weight)(col)));
        x_peak(row) = 0;
        x_peak(row) = max(x_peak(row), magnitude(weighted(r, row)));
        x_scale(row) = own_product(scale_of(x_peak(row)), inv_rms(row));
        x_inv(row) = 127.0f / reinterpret<float>(x_peak(row));
        x_q(col, row) = quantize(rows(), weighted(col, row), x_inv(row), zero());

        const auto x_at = [&](const Expr &d) { return x_q(d, row_of(row)); };
        w_gate.multiply(gate(col, row), x.width(), col, hidden, x_at);
        w_up.multiply(up(col, row), x.width(), col, hidden, x_at);
        activated(col, row) = activate(activation, w_gate.dequantize(gate(col, row), col, x_scale(row), zero()), get_target());
        h(col, row) = own_product(activated(col, row), w_up.dequantize(up(col, row), col, 1.0f, zero()));

        const Expr depth = max(hidden, 0);  // as in swiglu_mlp.cpp
        const RDom j(0, depth, "k");
        h_peak(row) = 0;
        h_peak(row) = max(h_peak(row), magnitude(h(j, row)));
        h_scale(row) = own_product(scale_of(h_peak(row)), x_scale(row));
        h_inv(row) = 127.0f / reinterpret<float>(h_peak(row));
        h_q(col, row) = quantize(rows(), h(col, row), h_inv(row), zero());
        w_down.multiply(acc(col, row), depth, col, y.dim(0).max() + 1, [&](const Expr &d) { return h_q(d, row_of(row)); });
        const Expr sum = w_down.dequantize(acc(col, row), col, h_scale(row), zero());
        y(col, row) = store_as(type, add_residual ? own_sum(sum, load_f32((*residual)(col, row)), get_target()) : sum);
    }

private:
    /** Rows as they are multiplied, and what stands for 0 in them. */
    OutputType rows() const {
        return zero() == 0 ? OutputType::kS8 : OutputType::kU8;
    }
    int zero() const {
        return raised(Int(8), weights);
    }

    Expr row_of(const Expr &number) {
        return row_at(x, number, get_target());
    }

    /** |v| as an integer in the order of the magnitudes: a maximum of them is a NaN where there is one. */
    static Expr magnitude(const Expr &v) {
        return f32_bits(v) & 0x7fffffff;
    }
    static Expr scale_of(const Expr &peak) {
        return own_product(reinterpret<float>(peak), 1 / 127.0f);
    }

    Var col{"col"}, row{"row"};
    Func sum_sq{"sum_sq"}, inv_rms{"inv_rms"}, weighted{"weighted"}, x_peak{"x_peak"}, x_scale{"x_scale"}, x_inv{"x_inv"}, x_q{"x_q"},
        gate{"gate"}, up{"up"}, activated{"activated"}, h{"h"}, h_peak{"h_peak"}, h_scale{"h_scale"}, h_inv{"h_inv"}, h_q{"h_q"},
        acc{"acc"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(SwigluMlpInt8, swiglu_mlp_int8)
