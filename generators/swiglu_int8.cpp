// SwiGLU and its kin in 8 bits: y = activation(x w_gate + bias_gate) * (x w_up + bias_up), where both products are of
// the same 8-bit x and are taken to f32 as math/linear_int8.h says. For an 8-bit output,
// y_q = saturate(round(y / y_scale) + y_zero_point).

#include <Halide.h>

#include "math/activation.h"
#include "math/elements.h"
#include "math/linear_int8.h"
#include "math/number.h"
#include "math/own_rounding.h"

namespace {

using namespace Halide;
using namespace halyard;

class SwigluInt8 : public Generator<SwigluInt8> {
public:
    GeneratorParam<Type> x_type{"x_type", UInt(8)};  // uint8 or int8
    GeneratorParam<WeightLayout> weights{"weights", WeightLayout::kPacked, linear_layouts()};
    Number panel{"panel", 48, 1, 1024};
    /** Of x: one scale and zero point for all, or for each row, as dynamic quantisation has them. */
    GeneratorParam<Scaling> scaling{"scaling", Scaling::kTensor, scalings()};
    /** Without one, x is symmetric. */
    GeneratorParam<bool> zero_point{"zero_point", false};
    GeneratorParam<bool> add_bias{"add_bias", false};
    GeneratorParam<Activation> activation{"activation", Activation::kSilu, activations()};
    GeneratorParam<Type> type{"type", Float(32)};  // of y: float32, float16 or bfloat16
    GeneratorParam<OutputType> output{"output", OutputType::kSame, output_types()};

    Input<Buffer<void, 2>> x{"x"};                                     // [k, m]
    RowsInt8 rows;                                                     // x_scale and x_zero_point
    LinearInt8 w_gate, w_up;                                           // k x n
    Input<Buffer<float, 1>> *bias_gate = nullptr, *bias_up = nullptr;  // [n]
    Stored stored;
    Output<Buffer<void, 2>> y{"y"};  // [n, m]

    void configure() {
        x.set_type(x_type);
        y.set_type(stored_type(output, storage_type(type)));
        rows.add_to(*this, "x", x_type, weights, scaling, zero_point);
        w_gate.add_to(*this, "w_gate", weights, panel, rows.have_zero(), get_target());
        w_up.add_to(*this, "w_up", weights, panel, rows.have_zero(), get_target());
        if (add_bias) {
            bias_gate = add_input<Buffer<float, 1>>("bias_gate");
            bias_up = add_input<Buffer<float, 1>>("bias_up");
        }
        stored.add_to(*this, "y", output, type);
    }

    void generate() {
        need_rows(*this, get_target(), "x", x.dim(1), y.dim(1));
        x_u(k, row) = rows.element(x(k, row_at(x, row, get_target())));
        const auto x_at = [&](const Expr &i) { return x_u(i, row); };
        const Expr columns = y.dim(0).max() + 1;
        w_gate.multiply(gate(col, row), x.width(), col, columns, x_at);
        w_up.multiply(up(col, row), x.width(), col, columns, x_at);
        Expr g = w_gate.dequantize(gate(col, row), col, rows.scale(row), rows.zero(row));
        Expr u = w_up.dequantize(up(col, row), col, rows.scale(row), rows.zero(row));
        if (add_bias) {
            g = own_sum(g, (*bias_gate)(col), get_target());
            u = own_sum(u, (*bias_up)(col), get_target());
        }
        activated(col, row) = activate(activation, g, get_target());
        y(col, row) = stored(own_product(activated(col, row), u, get_target()), get_target());
    }

private:
    Var col{"col"}, row{"row"}, k{"k"};
    Func x_u{"x_u"}, gate{"gate"}, up{"up"}, activated{"activated"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(SwigluInt8, swiglu_int8)
