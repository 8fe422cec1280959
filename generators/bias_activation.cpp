// A chain of elementwise steps: y = activation(scale * x + bias) + residual. log(relu(...)) is two steps.

#include <Halide.h>

#include "math/activation.h"
#include "math/elements.h"
#include "math/log.h"
#include "math/own_rounding.h"

namespace {

using namespace Halide;
using namespace halyard;

class BiasActivation : public Generator<BiasActivation> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    GeneratorParam<bool> add_scale{"add_scale", false};
    GeneratorParam<bool> add_bias{"add_bias", true};
    GeneratorParam<Activation> activation{"activation", Activation::kRelu, activations()};
    GeneratorParam<bool> add_residual{"add_residual", false};

    Input<Buffer<void, 2>> x{"x"};  // [cols, rows]
    Input<float> *scale = nullptr;
    Input<Buffer<>> *bias = nullptr;      // [cols]
    Input<Buffer<>> *residual = nullptr;  // [cols, rows]
    Output<Buffer<void, 2>> y{"y"};       // [cols, rows]

    void configure() {
        x.set_type(storage_type(type));
        y.set_type(type);
        if (add_scale) {
            scale = add_input<float>("scale");
        }
        if (add_bias) {
            bias = add_input<Buffer<>>("bias", type, 1);
        }
        if (add_residual) {
            residual = add_input<Buffer<>>("residual", type, 2);
        }
    }

    void generate() {
        Expr v = load_f32(x(col, row));
        if (add_scale) {
            v = step(scaled, own_product(v, *scale, get_target()));
        }
        if (add_bias) {
            v = step(biased, own_sum(v, load_f32((*bias)(col)), get_target()));
        }
        if (activation == Activation::kLogRelu) {
            v = step(logarithm, log_f32(step(activated, activate(Activation::kRelu, v, get_target()))));
        } else if (activation != Activation::kNone) {
            v = step(activated, activate(activation, v, get_target(), type));
        }
        if (add_residual) {
            v = own_sum(v, load_f32((*residual)(col, row)), get_target());
        }
        y(col, row) = store_as(type, v);
    }

private:
    // Only the steps that there are have a Func, so that an unfused schedule makes no others.
    Expr step(Func &f, const Expr &value) {
        f(col, row) = value;
        return f(col, row);
    }

    Var col{"col"}, row{"row"};
    Func scaled{"scaled"}, biased{"biased"}, activated{"activated"}, logarithm{"logarithm"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(BiasActivation, bias_activation)
