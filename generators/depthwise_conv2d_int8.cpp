// Depthwise convolution of images in 8 bits with its epilogue, as quantised networks run it; a window of its own for
// each channel:
//
//   acc = (x - x_zero_point) conv weight                                        exact, in 32 bits
//   y = activation(acc * x_scale * weight_scale[c] + bias[c] + residual) + residual    one residual at most
//
// and, for an 8-bit output, y_q = saturate(round(y / y_scale) + y_zero_point). x is asymmetric, weights are symmetric, as
// in conv2d_int8. Outside of x lies its zero point, which stands for 0, so that the sum of a channel's weights takes the
// zero point out of every window. Channels innermost (NHWC).

#include <Halide.h>

#include "math/activation.h"
#include "math/elements.h"
#include "math/number.h"
#include "math/own_rounding.h"
#include "math/quantize.h"
#include "math/window.h"

namespace {

using namespace Halide;
using namespace halyard;

class DepthwiseConv2dInt8 : public Generator<DepthwiseConv2dInt8> {
public:
    GeneratorParam<Type> x_type{"x_type", UInt(8)};  // uint8 or int8
    Number kernel{"kernel", 3, 1, 64};               // rows and columns
    Number stride{"stride", 1, 1, 64};
    Number dilation{"dilation", 1, 1, 64};
    Number padding{"padding", 1, 0, 1024};  // rows above and below, columns left and right
    /** Without one, x is symmetric. */
    GeneratorParam<bool> zero_point{"zero_point", false};
    GeneratorParam<bool> add_bias{"add_bias", false};
    GeneratorParam<Activation> activation{"activation", Activation::kNone, activations()};
    GeneratorParam<Residual> add_residual{"add_residual", Residual::kNone, residuals()};
    GeneratorParam<OutputType> residual_type{"residual_type", OutputType::kSame, added_types()};
    GeneratorParam<Type> type{"type", Float(32)};  // of y and residual: float32, float16 or bfloat16
    GeneratorParam<OutputType> output{"output", OutputType::kSame, output_types()};

    Input<Buffer<void, 4>> x{"x"};                         // [c, w, h, n]
    Input<Buffer<int8_t, 3>> weight{"weight"};             // [c, kernel, kernel], columns before rows
    Input<Buffer<float, 1>> weight_scale{"weight_scale"};  // [c]
    Input<float> x_scale{"x_scale"};
    Input<int32_t> *x_zero_point = nullptr;   // a value that x can have
    Input<Buffer<float, 1>> *bias = nullptr;  // [c]
    Added residual;                           // as y
    Stored stored;
    Output<Buffer<void, 4>> y{"y"};  // [c, (w + 2 padding - dilation (kernel - 1) - 1) / stride + 1, h alike, n]

    void configure() {
        if (x_type != UInt(8) && x_type != Int(8)) {
            throw CompileError("x_type is uint8 or int8");
        }
        x.set_type(x_type);
        y.set_type(stored_type(output, storage_type(type)));
        if (zero_point) {
            x_zero_point = add_input<int32_t>("x_zero_point");
        }
        if (add_bias) {
            bias = add_input<Buffer<float, 1>>("bias");
        }
        if (add_residual != Residual::kNone) {
            residual.add_to(*this, "residual", residual_type, type, 4);
        }
        stored.add_to(*this, "y", output, type);
    }

    void generate() {
        const Window window{kernel, stride, dilation, padding};
        const bool on_gpu = get_target().has_gpu_feature();
        // The host has instructions that multiply and add neighbours in memory: four bytes, unsigned with signed, or two
        // numbers of 16 bits. So many rows of the kernel lie side by side, zeros behind the last. Where bytes do, a signed
        // x is taken 128 higher.
        const int group = on_gpu ? 1 : has_dot() ? 4 : 2;
        const int offset = group == 4 && x_type == Int(8) ? 128 : 0;
        const Expr zero = zero_point ? Expr(*x_zero_point) : Expr(0);
        const Expr image = window.padded(x, {c, w, h, n}, 1, 2, zero);
        x_u(c, w, h, n) = offset == 0 ? image : cast<uint8_t>(image) ^ cast<uint8_t>(offset);
        const Expr r = j * group + i, real = kernel % group == 0 ? r : min(r, kernel - 1);
        const auto rows_of = [&](const Expr &value) {
            const Expr row = select(r < kernel, value, cast(value.type(), 0));
            return group == 2 ? cast<int16_t>(row) : row;
        };
        x_rows(i, c, w, h, j, n) = rows_of(x_u(c, w, window.at(h, real), n));
        // What neighbouring windows share, so that it can be kept for all of them in registers; wide windows do not fit there.
        // A GPU multiplies 32 bits, so it keeps them as that.
        const Expr near = x_rows(i, c, w, h, j, n);
        x_near(i, c, w, h, j, n) = on_gpu ? cast<int32_t>(near) : near;
        Func &pixel = dilation * (kernel - 1) <= (on_gpu ? 8 : 2) ? x_near : x_rows;
        weight_rows(i, c, s, j) = rows_of(weight(c, s, real));
        // The sums begin with what the zero point takes out.
        if (zero_point || offset != 0) {
            RDom all(0, kernel, 0, kernel, "all");
            zero_sum(c) -= (zero + offset) * cast<int32_t>(weight(c, all.x, all.y));
            acc(c, w, h, n) = zero_sum(c);
        }
        RDom tap({{0, group}, {0, kernel}, {0, (kernel + group - 1) / group}}, "tap");
        acc(c, w, h, n) +=
            cast<int32_t>(pixel(tap.x, c, window.at(w, tap.y), h, tap.z, n)) * cast<int32_t>(weight_rows(tap.x, c, tap.y, tap.z));

        // Each rounded by itself: few channels and many have loops of their own.
        const Target target = get_target();
        sum_scale(c) = own_product(x_scale, weight_scale(c), target);
        Expr v = own_product(cast<float>(acc(c, w, h, n)), sum_scale(c), target);
        if (add_bias) {
            v = own_sum(v, (*bias)(c), target);
        }
        linear(c, w, h, n) = v;
        v = linear(c, w, h, n);
        const Expr skip = residual ? residual.at({c, w, h, n}) : Expr();
        activated(c, w, h, n) = activate(activation, add_residual == Residual::kBefore ? own_sum(v, skip, target) : v, target);
        v = activated(c, w, h, n);
        if (add_residual == Residual::kAfter) {
            v = own_sum(v, skip, target);
        }
        y(c, w, h, n) = stored(v, get_target());

        for (int d : {1, 2}) {
            x.dim(d).set_min(0);
            weight.dim(d).set_bounds(0, kernel);
            y.dim(d).set_bounds(0, window.windows(x.dim(d).extent()));
        }
    }

private:
    bool has_dot() const {
        return get_target().has_feature(Target::AVX512_Zen4) || get_target().has_feature(Target::AVXVNNI);
    }

    Var i{"i"}, c{"c"}, s{"s"}, w{"w"}, h{"h"}, j{"j"}, n{"n"};
    Func x_u{"x_u"}, x_rows{"x_rows"}, x_near{"x_near"}, weight_rows{"weight_rows"}, acc{"acc"}, zero_sum{"zero_sum"},
        sum_scale{"sum_scale"}, linear{"linear"}, activated{"activated"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(DepthwiseConv2dInt8, depthwise_conv2d_int8)
