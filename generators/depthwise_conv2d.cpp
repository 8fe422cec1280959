// Depthwise convolution of images with an epilogue, a window of its own for each channel:
// y = activation(scale * (x conv weight) + bias + residual) + residual, one residual at most. Channels
// innermost (NHWC). Outside of x are zeros, as in conv2d.

#include <Halide.h>

#include "math/activation.h"
#include "math/elements.h"
#include "math/number.h"
#include "math/own_rounding.h"
#include "math/window.h"

namespace {

using namespace Halide;
using namespace halyard;

class DepthwiseConv2d : public Generator<DepthwiseConv2d> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    Number kernel{"kernel", 3, 1, 64};             // rows and columns
    Number stride{"stride", 1, 1, 64};
    Number dilation{"dilation", 1, 1, 64};
    Number padding{"padding", 1, 0, 1024};               // rows above and below, columns left and right
    GeneratorParam<bool> add_scale{"add_scale", false};  // with the bias: a folded BatchNorm
    GeneratorParam<bool> add_bias{"add_bias", false};
    GeneratorParam<Activation> activation{"activation", Activation::kNone, activations()};
    GeneratorParam<Residual> add_residual{"add_residual", Residual::kNone, residuals()};

    Input<Buffer<void, 4>> x{"x"};            // [c, w, h, n]
    Input<Buffer<void, 3>> weight{"weight"};  // [c, kernel, kernel], columns before rows
    Input<Buffer<>> *scale = nullptr;         // [c]
    Input<Buffer<>> *bias = nullptr;          // [c]
    Input<Buffer<>> *residual = nullptr;      // as y
    Output<Buffer<void, 4>> y{"y"};           // [c, (w + 2 padding - dilation (kernel - 1) - 1) / stride + 1, h alike, n]

    void configure() {
        x.set_type(storage_type(type));
        weight.set_type(type);
        y.set_type(type);
        if (add_scale) {
            scale = add_input<Buffer<>>("scale", Float(32), 1);
        }
        if (add_bias) {
            bias = add_input<Buffer<>>("bias", type, 1);
        }
        if (add_residual != Residual::kNone) {
            residual = add_input<Buffer<>>("residual", type, 4);
        }
    }

    void generate() {
        const Window window{kernel, stride, dilation, padding};
        x_f(c, w, h, n) = load_f32(window.padded(x, {c, w, h, n}, 1, 2));
        // What neighbouring windows share, so that it can be kept for all of them; windows that are far apart share nothing.
        x_near(c, w, h, n) = x_f(c, w, h, n);
        Func &pixel = dilation * (kernel - 1) <= 8 ? x_near : x_f;
        weight_f(c, s, r) = load_f32(weight(c, s, r));
        RDom tap(0, kernel, 0, kernel, "tap");
        acc(c, w, h, n) += pixel(c, window.at(w, tap.x), window.at(h, tap.y), n) * weight_f(c, tap.x, tap.y);

        Expr v = acc(c, w, h, n);
        const Target target = get_target();
        if (add_scale || add_bias) {  // each rounded by itself, whatever loop the sums are in
            v = add_scale ? own_product(v, (*scale)(c), target) : v;
            v = add_bias ? own_sum(v, load_f32((*bias)(c)), target) : v;
            linear(c, w, h, n) = v;
            v = linear(c, w, h, n);
        }
        const Expr skip = residual ? load_f32((*residual)(c, w, h, n)) : Expr();
        activated(c, w, h, n) = activate(activation, add_residual == Residual::kBefore ? own_sum(v, skip, target) : v, target);
        v = activated(c, w, h, n);
        y(c, w, h, n) = store_as(type, add_residual == Residual::kAfter ? own_sum(v, skip, target) : v);

        for (int d : {1, 2}) {
            x.dim(d).set_min(0);
            weight.dim(d).set_bounds(0, kernel);
            y.dim(d).set_bounds(0, window.windows(x.dim(d).extent()));
        }
    }

private:
    Var c{"c"}, s{"s"}, r{"r"}, w{"w"}, h{"h"}, n{"n"};
    Func x_f{"x_f"}, x_near{"x_near"}, weight_f{"weight_f"}, acc{"acc"}, linear{"linear"}, activated{"activated"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(DepthwiseConv2d, depthwise_conv2d)
