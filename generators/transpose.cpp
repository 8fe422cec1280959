// Transposed matrices with an elementwise neighbour: y = activation(scale * x^T + bias) + residual.
// What stands before the transposition and what stands after it differ in the bias alone: one for
// each column of x, or one for each column of y.

#include <Halide.h>

#include "math/activation.h"
#include "math/elements.h"
#include "math/own_rounding.h"

namespace {

using namespace Halide;
using namespace halyard;

enum class Bias { kNone, kBefore, kAfter };

class Transpose : public Generator<Transpose> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    GeneratorParam<bool> add_scale{"add_scale", false};
    /** before: bias [cols], one for each column of x. after: bias_after [rows], one for each column of y. */
    GeneratorParam<Bias> add_bias{"add_bias", Bias::kNone, {{"none", Bias::kNone}, {"before", Bias::kBefore}, {"after", Bias::kAfter}}};
    GeneratorParam<Activation> activation{"activation", Activation::kNone, activations()};
    GeneratorParam<bool> add_residual{"add_residual", false};

    Input<Buffer<void, 3>> x{"x"};  // [cols, rows, batch]
    Input<float> *scale = nullptr;
    Input<Buffer<>> *bias = nullptr;
    Input<Buffer<>> *residual = nullptr;  // [rows, cols, batch]
    Output<Buffer<void, 3>> y{"y"};       // [rows, cols, batch]

    void configure() {
        x.set_type(storage_type(type));
        y.set_type(type);
        if (add_scale) {
            scale = add_input<float>("scale");
        }
        if (add_bias != Bias::kNone) {
            bias = add_input<Buffer<>>(add_bias == Bias::kBefore ? "bias" : "bias_after", type, 1);
        }
        if (add_residual) {
            residual = add_input<Buffer<>>("residual", type, 3);
        }
    }

    void generate() {
        transposed(row, col, n) = x(col, row, n);
        // Each rounded by itself: few rows and many have loops of their own.
        Expr v = load_f32(transposed(row, col, n));
        if (add_scale) {
            v = own_product(v, *scale, get_target());
        }
        if (add_bias != Bias::kNone) {
            v = own_sum(v, load_f32((*bias)(add_bias == Bias::kBefore ? col : row)), get_target());
        }
        linear(row, col, n) = v;
        activated(row, col, n) = activate(activation, linear(row, col, n), get_target(), type);
        v = activated(row, col, n);
        if (add_residual) {
            v = own_sum(v, load_f32((*residual)(row, col, n)), get_target());
        }
        y(row, col, n) = store_as(type, v);
    }

private:
    Var row{"row"}, col{"col"}, n{"n"};
    Func transposed{"transposed"}, linear{"linear"}, activated{"activated"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Transpose, transpose)
