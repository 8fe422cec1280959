// Convolution of images in 8 bits with its epilogue, as quantised networks run it:
//
//   acc = (x - x_zero_point) conv weight                                        exact, in 32 bits
//   y = activation(acc * x_scale * weight_scale[o] + bias[o] + residual) + residual    one residual at most
//
// and, for an 8-bit output, y_q = saturate(round(y / y_scale) + y_zero_point). x is asymmetric, weights are
// symmetric, as in gemm_int8. Outside of x lies its zero point, which stands for 0. With packed weights it is written
// there, so that the sum of all of a channel's weights takes the zero point out of every window. With others, zeros lie
// there, as a GPU fetches them, and the sums of the elements of the kernel that meet x take it out.
// Channels innermost, and groups a dimension of their own, as in conv2d.

#include <Halide.h>

#include "math/activation.h"
#include "math/convolution.h"
#include "math/elements.h"
#include "math/number.h"
#include "math/open_number.h"
#include "math/own_rounding.h"
#include "math/quantize.h"

namespace {

using namespace Halide;
using namespace halyard;

/** How the weights lie in memory. packed: as math/convolution.h says, for instructions that take four neighbouring channels.
 * ohwi: as torch.nn.Conv2d stores them in channels_last, for those that take many. */
enum class Layout { kPacked, kOhwi };

class Conv2dInt8 : public Generator<Conv2dInt8> {
public:
    GeneratorParam<Type> x_type{"x_type", UInt(8)};  // uint8 or int8
    Number kernel{"kernel", 3, 1, 64};               // rows and columns
    Number stride{"stride", 1, 1, 64};
    Number dilation{"dilation", 1, 1, 64};
    Number padding{"padding", 1, 0, 1024};  // rows above and below, columns left and right
    GeneratorParam<Layout> weights{"weights", Layout::kPacked, {{"packed", Layout::kPacked}, {"ohwi", Layout::kOhwi}}};
    Number panel{"panel", 32, 1, 1024};
    GeneratorParam<Gather> gather{"gather", Gather::kNever, gathers()};  // of ohwi
    GeneratorParam<bool> skip_padding{"skip_padding", false};            // sums leave out zeros outside of x, without a zero point
    /** Without one, x is symmetric. */
    GeneratorParam<bool> zero_point{"zero_point", false};
    GeneratorParam<bool> add_bias{"add_bias", false};
    GeneratorParam<Activation> activation{"activation", Activation::kNone, activations()};
    GeneratorParam<Residual> add_residual{"add_residual", Residual::kNone, residuals()};
    GeneratorParam<OutputType> residual_type{"residual_type", OutputType::kSame, added_types()};
    GeneratorParam<Type> type{"type", Float(32)};  // of y and residual: float32, float16 or bfloat16
    GeneratorParam<OutputType> output{"output", OutputType::kSame, output_types()};

    Input<Buffer<void, 5>> x{"x"};                    // [c, groups, w, h, n]
    Input<Buffer<>> *weight = nullptr;                // weight_ohwi [c, kernel, kernel, o, groups] or weight_packed [4, panel, ceil(c / 4),
                                                      // kernel, kernel, ceil(o / panel), groups]
    Input<Buffer<float, 2>> *weight_scale = nullptr;  // [o, groups]
    Input<float> *x_scale = nullptr;
    Input<Buffer<int32_t, 2>> *weight_sum = nullptr;      // [o, groups]: over all channels and the kernel
    Input<Buffer<int32_t, 4>> *weight_tap_sum = nullptr;  // [o, kernel, kernel, groups]: over all channels
    Input<int32_t> *x_zero_point = nullptr;               // a value that x can have
    Input<Buffer<float, 2>> *bias = nullptr;              // [o, groups]
    Added residual;                                       // as y
    Stored stored;
    Output<Buffer<void, 5>> y{"y"};  // [o, groups, windows in w, windows in h, n]

    void configure() {
        if (x_type != UInt(8) && x_type != Int(8)) {
            throw CompileError("x_type is uint8 or int8");
        }
        x.set_type(x_type);
        y.set_type(stored_type(output, storage_type(type)));
        const bool packed = weights == Layout::kPacked;
        weight = add_input<Buffer<>>(packed ? "weight_packed" : "weight_ohwi", Int(8), packed ? 7 : 5);
        weight_scale = add_input<Buffer<float, 2>>("weight_scale");
        x_scale = add_input<float>("x_scale");
        if (zero_point) {
            x_zero_point = add_input<int32_t>("x_zero_point");
        }
        if (needs_tap_sums()) {
            weight_tap_sum = add_input<Buffer<int32_t, 4>>("weight_tap_sum");
        } else if (needs_weight_sum()) {
            weight_sum = add_input<Buffer<int32_t, 2>>("weight_sum");
        }
        if (add_bias) {
            bias = add_input<Buffer<float, 2>>("bias");
        }
        if (add_residual != Residual::kNone) {
            residual.add_to(*this, "residual", residual_type, type, 5);
        }
        stored.add_to(*this, "y", output, type);
    }

    void generate() {
        const Window window{kernel, stride, dilation, padding};
        const Expr zero = zero_point ? Expr(*x_zero_point) : Expr(0);
        const bool packed = weights == Layout::kPacked;
        // The instructions for packed weights multiply unsigned with signed: a signed x is taken 128 higher.
        const int offset = packed && x_type == Int(8) ? 128 : 0;
        const Expr image = window.padded(x, {c, g, w, h, n}, 2, 3, packed ? zero : 0);
        x_u(c, g, w, h, n) = offset == 0 ? image : cast<uint8_t>(image) ^ cast<uint8_t>(offset);
        const bool as_it_is = offset == 0 && padding == 0;  // then it has no Func, so that a schedule copies nothing
        const auto pixel = [&](const Var &of, int dimension) {
            return packed ? Expr(of) : pixel_of_box(of, dimension, y.dim(dimension), padding);
        };
        accumulate_window(
            acc(o, g, w, h, n), packed ? packed_group(Int(8)) : 1, x.dim(0).extent(), kernel,
            [&](const Expr &channel, const Expr &column, const Expr &row) {
                const std::vector<Expr> at = {channel, g, window.at(pixel(w, 2), column), window.at(pixel(h, 3), row), pixel(n, 4)};
                return cast<int32_t>(as_it_is ? x(at) : x_u(at)) * cast<int32_t>(stored_weight(channel, column, row));
            },
            [&](const Expr &column, const Expr &row) {
                // A zero point outside of x counts, as the sum of all weights takes it out.
                return skip_padding && !needs_weight_sum() ? taps_in_image(x, window, w, h, column, row) : Expr();
            });

        Expr sum = acc(o, g, w, h, n);
        if (gather == Gather::kOpen) {
            sum = select(number_or_open(kOpen, "gathered", 0, 1) == 1, gathered(window), sum);
        }
        if (needs_tap_sums()) {
            const RDom tap({{0, kernel}, {0, kernel}}, "zero_tap");
            zero_sum_at(o, g, w, h) += select(window.inside(w, tap.x, x.dim(2).extent()) && window.inside(h, tap.y, x.dim(3).extent()),
                                              zero * (*weight_tap_sum)(o, tap.x, tap.y, g), 0);
            sum -= zero_sum_at(o, g, w, h);
        } else if (needs_weight_sum()) {
            zero_sum(o, g) = (zero + offset) * (*weight_sum)(o, g);
            sum -= zero_sum(o, g);
        }
        // Each rounded by itself, whatever loop the sums are in.
        const Target target = get_target();
        sum_scale(o, g) = own_product(*x_scale, (*weight_scale)(o, g), target);
        Expr v = own_product(cast<float>(sum), sum_scale(o, g), target);
        if (add_bias) {
            v = own_sum(v, (*bias)(o, g), target);
        }
        linear(o, g, w, h, n) = v;
        v = linear(o, g, w, h, n);
        const Expr skip = residual ? residual.at({o, g, w, h, n}) : Expr();
        activated(o, g, w, h, n) = activate(activation, add_residual == Residual::kBefore ? own_sum(v, skip, target) : v, target);
        v = activated(o, g, w, h, n);
        if (add_residual == Residual::kAfter) {
            v = own_sum(v, skip, target);
        }
        y(o, g, w, h, n) = stored(v, target);
        constrain_images(x, y, window);
        if (packed) {
            constrain_packed_filter(*weight, kernel, panel, x.dim(0).extent());
        } else {
            constrain_filter(*weight, kernel, x.dim(0).extent());
        }
        if (weight_tap_sum) {
            weight_tap_sum->dim(1).set_bounds(0, kernel);
            weight_tap_sum->dim(2).set_bounds(0, kernel);
        }
    }

private:
    bool needs_weight_sum() const {
        return zero_point || (weights == Layout::kPacked && x_type == Int(8));
    }

    bool needs_tap_sums() const {
        return zero_point && weights == Layout::kOhwi && padding > 0;
    }

    // The same sum as a product of matrices.
    Expr gathered(const Window &window) {
        if (weights != Layout::kOhwi) {
            throw CompileError("gather is for weights=ohwi");
        }
        const auto [a, b] = gathered_windows.operands(x, *weight, y, window, o, g, w, h, n);
        acc_gathered(o, g, w, h, n) += cast<int32_t>(a) * cast<int32_t>(b);
        return acc_gathered(o, g, w, h, n);
    }

    Expr stored_weight(const Expr &channel, const Expr &column, const Expr &row) {
        if (weights == Layout::kPacked) {
            return packed_filter_at(*weight, panel, o, channel, column, row, g);
        }
        // Clamped to the channels of y, so that a schedule may round them up.
        return (*weight)(channel, column, row, min(likely(o), y.dim(0).max()), g);
    }

    Var o{"o"}, c{"c"}, g{"g"}, w{"w"}, h{"h"}, n{"n"};
    Func x_u{"x_u"}, acc{"acc"}, zero_sum{"zero_sum"}, zero_sum_at{"zero_sum_at"}, sum_scale{"sum_scale"};
    Func acc_gathered{"acc_gathered"};
    GatheredWindows gathered_windows;
    Func linear{"linear"}, activated{"activated"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Conv2dInt8, conv2d_int8)
