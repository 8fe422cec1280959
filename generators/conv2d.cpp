// Convolution of images with an epilogue: y = activation(scale * (x conv weight) + bias + residual) + residual,
// one residual at most. Channels innermost (NHWC). The channels of a group are a dimension of their own, so an
// ordinary convolution has one group, and NHWC memory of a grouped one is seen as [n, h, w, groups, c].
//
// Outside of x are zeros. They take the place of what is read, no mask is multiplied with x: an x that is infinite
// or NaN reaches just the windows that it lies in. A weight that is infinite or NaN gives NaN or
// counts as nothing where it meets a zero outside of x, as the schedule has it.

#include <Halide.h>

#include "math/activation.h"
#include "math/convolution.h"
#include "math/elements.h"
#include "math/number.h"
#include "math/open_number.h"
#include "math/own_rounding.h"
#include "math/unread.h"

namespace {

using namespace Halide;
using namespace halyard;

/** How the weights lie in memory. oihw: as torch.nn.Conv2d stores them, columns of the kernel
 * innermost. ohwi: as it does in channels_last, channels of x innermost. packed: as math/convolution.h says. */
enum class Layout { kPacked, kOihw, kOhwi };

class Conv2d : public Generator<Conv2d> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    Number kernel{"kernel", 3, 1, 64};             // rows and columns
    Number stride{"stride", 1, 1, 64};
    Number dilation{"dilation", 1, 1, 64};
    Number padding{"padding", 1, 0, 1024};  // rows above and below, columns left and right
    GeneratorParam<Layout> weights{
        "weights", Layout::kPacked, {{"packed", Layout::kPacked}, {"oihw", Layout::kOihw}, {"ohwi", Layout::kOhwi}}};
    Number panel{"panel", 32, 1, 1024};
    GeneratorParam<Gather> gather{"gather", Gather::kNever, gathers()};  // of ohwi
    GeneratorParam<bool> skip_padding{"skip_padding", false};            // sums leave out what meets zeros outside of x
    GeneratorParam<bool> add_scale{"add_scale", false};                  // with the bias: a folded BatchNorm
    GeneratorParam<bool> add_bias{"add_bias", false};
    GeneratorParam<Activation> activation{"activation", Activation::kNone, activations()};
    GeneratorParam<Residual> add_residual{"add_residual", Residual::kNone, residuals()};

    Input<Buffer<void, 5>> x{"x"};        // [c, groups, w, h, n]
    Input<Buffer<>> *weight = nullptr;    // weight [kernel, kernel, c, o, groups], weight_ohwi [c, kernel, kernel, o,
                                          // groups] or weight_packed [group, panel, ceil(c / group), kernel, kernel,
                                          // ceil(o / panel), groups]
    Input<Buffer<>> *scale = nullptr;     // [o, groups]
    Input<Buffer<>> *bias = nullptr;      // [o, groups]
    Input<Buffer<>> *residual = nullptr;  // as y
    /** [o, groups, (w + 2 padding - dilation (kernel - 1) - 1) / stride + 1, h alike, n] */
    Output<Buffer<void, 5>> y{"y"};

    void configure() {
        x.set_type(storage_type(type));
        y.set_type(type);
        weight = weights == Layout::kPacked ? add_input<Buffer<>>("weight_packed", type, 7)
                                            : add_input<Buffer<>>(weights == Layout::kOihw ? "weight" : "weight_ohwi", type, 5);
        if (add_scale) {
            scale = add_input<Buffer<>>("scale", Float(32), 2);
        }
        if (add_bias) {
            bias = add_input<Buffer<>>("bias", type, 2);
        }
        if (add_residual != Residual::kNone) {
            residual = add_input<Buffer<>>("residual", type, 5);
        }
    }

    void generate() {
        read_only_if(*this, x.dim(0).extent() > 0, {"x", "weight", "weight_ohwi", "weight_packed"}, Granted::kNo);
        // Only what is not x already has a Func, so that a schedule copies nothing else.
        x_pad(c, g, w, h, n) = window().padded(x, {c, g, w, h, n}, 2, 3);
        x_f(c, g, w, h, n) = load_f32(padding == 0 ? x(c, g, w, h, n) : x_pad(c, g, w, h, n));
        weight_f(o, c, s, r, g) = load_f32(stored_weight());

        accumulate_window(
            acc(o, g, w, h, n), group(), x.dim(0).extent(), kernel,
            [&](const Expr &channel, const Expr &column, const Expr &row) {
                const std::vector<Expr> at = {channel, g, window().at(pixel(w, 2), column), window().at(pixel(h, 3), row), pixel(n, 4)};
                const Expr image = type != Float(32) ? x_f(at) : padding == 0 ? x(at) : x_pad(at);
                return image * weight_f(o, channel, column, row, g);
            },
            [&](const Expr &column, const Expr &row) { return skip_padding ? taps_in_image(x, window(), w, h, column, row) : Expr(); });

        Expr v = acc(o, g, w, h, n);
        if (gather == Gather::kOpen) {
            v = select(number_or_open(kOpen, "gathered", 0, 1) == 1, gathered(), v);
        }
        const Target target = get_target();
        if (add_scale || add_bias) {  // each rounded by itself, whatever loop the sums are in
            v = add_scale ? own_product(v, (*scale)(o, g), target) : v;
            v = add_bias ? own_sum(v, load_f32((*bias)(o, g)), target) : v;
            linear(o, g, w, h, n) = v;
            v = linear(o, g, w, h, n);
        }
        const Expr skip = residual ? load_f32((*residual)(o, g, w, h, n)) : Expr();
        activated(o, g, w, h, n) = activate(activation, add_residual == Residual::kBefore ? own_sum(v, skip, target) : v, target, type);
        v = activated(o, g, w, h, n);
        y(o, g, w, h, n) = store_as(type, add_residual == Residual::kAfter ? own_sum(v, skip, target) : v);
        constrain();
    }

private:
    Window window() const {
        return {kernel, stride, dilation, padding};
    }

    int group() const {
        return weights == Layout::kPacked ? packed_group(type) : 1;
    }

    Expr pixel(const Var &of, int dimension) {
        const bool boxes = get_target().has_gpu_feature() && weights == Layout::kOhwi;
        return boxes ? pixel_of_box(of, dimension, y.dim(dimension), padding) : Expr(of);
    }

    // The same sum as a product of matrices.
    Expr gathered() {
        if (weights != Layout::kOhwi) {
            throw CompileError("gather is for weights=ohwi");
        }
        const auto [a, b] = gathered_windows.operands(x, *weight, y, window(), o, g, w, h, n);
        acc_gathered(o, g, w, h, n) += load_f32(a) * load_f32(b);
        return acc_gathered(o, g, w, h, n);
    }

    // Reads are clamped to the channels of y, so that a schedule may round them up.
    Expr stored_weight() {
        if (weights == Layout::kPacked) {
            return packed_filter_at(*weight, panel, o, c, s, r, g);
        }
        const Expr out = min(likely(o), y.dim(0).max());
        return weights == Layout::kOihw ? (*weight)(s, r, c, out, g) : (*weight)(c, s, r, out, g);
    }

    void constrain() {
        constrain_images(x, y, window());
        if (weights == Layout::kPacked) {
            constrain_packed_filter(*weight, kernel, panel, x.dim(0).extent());
            return;
        }
        if (weights == Layout::kOhwi) {
            constrain_filter(*weight, kernel, x.dim(0).extent());
            return;
        }
        weight->dim(0).set_bounds(0, kernel);
        weight->dim(1).set_bounds(0, kernel);
        weight->dim(2).set_bounds(0, x.dim(0).extent());
    }

    Var o{"o"}, c{"c"}, s{"s"}, r{"r"}, g{"g"}, w{"w"}, h{"h"}, n{"n"};
    Func x_pad{"x_pad"}, x_f{"x_f"}, weight_f{"weight_f"}, acc{"acc"}, acc_gathered{"acc_gathered"};
    GatheredWindows gathered_windows;
    Func linear{"linear"}, activated{"activated"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Conv2d, conv2d)
