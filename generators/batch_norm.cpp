// BatchNorm at inference: y = activation((x - mean) / sqrt(variance + eps) * weight + bias), with a mean,
// a variance, a weight and a bias for each channel, to 8 bits or not. Ioffe and Szegedy, 2015.
//
// What belongs to a channel is a scale and a shift of it. Dense images may be given with w the pixels of a
// plane and h = 1, which suits small planes.

#include <Halide.h>

#include "math/activation.h"
#include "math/elements.h"
#include "math/own_rounding.h"
#include "math/quantize.h"

namespace {

using namespace Halide;
using namespace halyard;

enum class Layout { kNchw, kNhwc };

class BatchNorm : public Generator<BatchNorm> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    /** nchw: a plane for each channel, x and y are [w, h, c, n]. nhwc: channels innermost, [c, w, h, n]. */
    GeneratorParam<Layout> layout{"layout", Layout::kNchw, {{"nchw", Layout::kNchw}, {"nhwc", Layout::kNhwc}}};
    GeneratorParam<Activation> activation{"activation", Activation::kNone, activations()};
    GeneratorParam<OutputType> output{"output", OutputType::kSame, output_types()};

    Input<Buffer<>> *x = nullptr;                                                              // x, or x_nhwc
    Input<Buffer<>> *weight = nullptr, *bias = nullptr, *mean = nullptr, *variance = nullptr;  // [c], f32
    Input<float> *eps = nullptr;
    Stored stored;
    Output<Buffer<>> *y = nullptr;  // y, or y_nhwc

    void configure() {
        const bool last = layout == Layout::kNhwc;
        x = add_input<Buffer<>>(last ? "x_nhwc" : "x", storage_type(type), 4);
        weight = add_input<Buffer<>>("weight", Float(32), 1);
        bias = add_input<Buffer<>>("bias", Float(32), 1);
        mean = add_input<Buffer<>>("mean", Float(32), 1);
        variance = add_input<Buffer<>>("variance", Float(32), 1);
        eps = add_input<float>("eps");
        stored.add_to(*this, "y", output, type);
        y = add_output<Buffer<>>(last ? "y_nhwc" : "y", stored_type(output, type), 4);
    }

    void generate() {
        const Target target = get_target();
        channel_scale(c) = own_product((*weight)(c), 1.0f / sqrt((*variance)(c) + *eps), target);
        channel_shift(c) = own_difference((*bias)(c), own_product((*mean)(c), channel_scale(c), target), target);
        const std::vector<Var> at = layout == Layout::kNhwc ? std::vector<Var>{c, w, h, n} : std::vector<Var>{w, h, c, n};
        normalised(at) = load_f32((*x)(std::vector<Expr>(at.begin(), at.end()))) * channel_scale(c) + channel_shift(c);
        Expr v = normalised(at);
        if (activation != Activation::kNone) {
            activated(at) = activate(activation, v, target);
            v = activated(at);
        }
        (*y)(at) = stored(v, target);
    }

private:
    Var w{"w"}, h{"h"}, c{"c"}, n{"n"};
    Func channel_scale{"channel_scale"}, channel_shift{"channel_shift"}, normalised{"normalised"}, activated{"activated"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(BatchNorm, batch_norm)
