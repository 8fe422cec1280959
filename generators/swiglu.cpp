// SwiGLU and its kin: y = activation(x w_gate + bias_gate) * (x w_up + bias_up), both products of the same x.
// Shazeer, GLU Variants Improve Transformer, 2020.

#include <Halide.h>

#include "math/activation.h"
#include "math/elements.h"
#include "math/linear.h"
#include "math/number.h"

namespace {

using namespace Halide;
using namespace halyard;

class Swiglu : public Generator<Swiglu> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    GeneratorParam<WeightLayout> weights{"weights", WeightLayout::kPacked, linear_layouts()};
    Number panel{"panel", 48, 1, 1024};
    GeneratorParam<bool> add_bias{"add_bias", false};
    GeneratorParam<Activation> activation{"activation", Activation::kSilu, activations()};

    Input<Buffer<void, 2>> x{"x"};  // [k, m]
    Linear w_gate, w_up;
    Input<Buffer<>> *bias_gate = nullptr, *bias_up = nullptr;  // [n]
    Output<Buffer<void, 2>> y{"y"};                            // [n, m]

    void configure() {
        x.set_type(storage_type(type));
        y.set_type(type);
        w_gate.add_to(*this, "w_gate", weights, panel, type, get_target());
        w_up.add_to(*this, "w_up", weights, panel, type, get_target());
        if (add_bias) {
            bias_gate = add_input<Buffer<>>("bias_gate", type, 1);
            bias_up = add_input<Buffer<>>("bias_up", type, 1);
        }
    }

    void generate() {
        need_rows(*this, get_target(), "x", x.dim(1), y.dim(1));
        x_f(k, row) = load_f32(x(k, row_at(x, row, get_target())));
        const auto x_at = [&](const Expr &i) { return x_f(i, row); };
        const Expr columns = y.dim(0).max() + 1;
        w_gate.multiply(gate(col, row), x.width(), col, columns, x_at);
        w_up.multiply(up(col, row), x.width(), col, columns, x_at);
        Expr g = gate(col, row), u = up(col, row);
        if (add_bias) {
            g = g + load_f32((*bias_gate)(col));
            u = u + load_f32((*bias_up)(col));
        }
        activated(col, row) = activate(activation, g, get_target(), type);
        y(col, row) = store_as(type, activated(col, row) * u);
    }

private:
    Var col{"col"}, row{"row"}, k{"k"};
    Func x_f{"x_f"}, gate{"gate"}, up{"up"}, activated{"activated"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Swiglu, swiglu)
