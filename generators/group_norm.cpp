// GroupNorm: y = activation((x - mean) / sqrt(var + eps) * weight + bias), with mean and variance over the
// pixels and channels of a group, weight and bias for each channel. Wu and He, 2018. One channel a group is
// InstanceNorm; the activation is what diffusion models put behind it (silu). y may have 8 bits.
//
// With `parts`, the channels of a group are shared out to so many parts, of which each has a mean and a sum of squares
// around it; those of the group follow from them (Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for
// computing sample variances, 1979). How many may be left to the schedule, as few groups want many, and many groups want one.

#include <Halide.h>

#include "math/activation.h"
#include "math/elements.h"
#include "math/number.h"
#include "math/open_number.h"
#include "math/quantize.h"

namespace {

using namespace Halide;
using namespace halyard;

class GroupNorm : public Generator<GroupNorm> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    GeneratorParam<Activation> activation{"activation", Activation::kNone, activations()};
    /** 0: none; two passes over the group. kOpen: what the schedule's parameter `blocks` says. */
    Number parts{"parts", 0, kOpen, 1024};
    GeneratorParam<OutputType> output{"output", OutputType::kSame, output_types()};

    Input<Buffer<void, 4>> x{"x"};            // [w, h, c, n]
    Input<Buffer<void, 1>> weight{"weight"};  // [c]
    Input<Buffer<void, 1>> bias{"bias"};      // [c]
    Input<int32_t> groups{"groups"};          // divides c
    Input<float> eps{"eps"};
    Stored stored;
    Output<Buffer<void, 4>> y{"y"};  // [w, h, c, n]

    void configure() {
        x.set_type(storage_type(type));
        weight.set_type(type);
        bias.set_type(type);
        y.set_type(stored_type(output, type));
        stored.add_to(*this, "y", output, type);
    }

    void generate() {
        add_requirement(groups >= 1 && x.dim(2).extent() % groups == 0, "group_norm: x has", x.dim(2).extent(), "channels, which",
                        Expr(groups), "groups must divide");
        const Expr channels = x.dim(2).extent() / groups;
        const Expr count = cast<float>(x.dim(0).extent() * x.dim(1).extent() * channels);
        if (parts != 0) {
            reduce_parts(channels, number_or_open(parts, "blocks", 1, 1024));
        } else {
            RDom r({{x.dim(0).min(), x.dim(0).extent()}, {x.dim(1).min(), x.dim(1).extent()}, {0, channels}}, "pixel");
            const Expr v = load_f32(x(r.x, r.y, x.dim(2).min() + g * channels + r.z, n));
            // Two passes, and distances from the first element, as layer_norm has by default: a large mean costs no digits.
            sum(g, n) += v - first(channels);
            mean(g, n) = first(channels) + sum(g, n) / count;
            sum_sq(g, n) += (v - mean(g, n)) * (v - mean(g, n));
        }
        inv_std(g, n) = 1.0f / sqrt(sum_sq(g, n) / count + eps);
        const Expr group = (c - x.dim(2).min()) / channels;
        channel_scale(c, n) = inv_std(group, n) * load_f32(weight(c));
        channel_shift(c, n) = load_f32(bias(c));
        normalised(w, h, c, n) = (load_f32(x(w, h, c, n)) - mean(group, n)) * channel_scale(c, n) + channel_shift(c, n);
        Expr v = normalised(w, h, c, n);
        if (activation != Activation::kNone) {
            activated(w, h, c, n) = activate(activation, v, get_target());
            v = activated(w, h, c, n);
        }
        y(w, h, c, n) = stored(v, get_target());
    }

private:
    // The first element of a group.
    Expr first(const Expr &channels) {
        return load_f32(x(x.dim(0).min(), x.dim(1).min(), x.dim(2).min() + g * channels, n));
    }

    void reduce_parts(const Expr &channels, const Expr &parts) {
        const Expr pixels = x.dim(0).extent() * x.dim(1).extent(), of_part = (channels + (parts - 1)) / parts;
        RDom r({{x.dim(0).min(), x.dim(0).extent()}, {x.dim(1).min(), x.dim(1).extent()}, {0, of_part}}, "pixel");
        const Expr channel = max(part, 0) * of_part + r.z;  // a schedule may compute parts before the first
        r.where(channel < channels);
        // A clamp would take vectors apart.
        const Expr real = x.dim(2).min() + g * channels + unsafe_promise_clamped(channel, 0, channels - 1);
        const Expr v = load_f32(x(r.x, r.y, real, n));
        const auto count = [&](const Expr &p) { return cast<float>(clamp(channels - p * of_part, 0, of_part) * pixels); };
        // Means are distances from the group's first element until they are one.
        part_sum(part, g, n) += v - first(channels);
        part_mean(part, g, n) = part_sum(part, g, n) / max(count(part), 1.0f);
        const Expr distance = v - (first(channels) + part_mean(part, g, n));
        part_sq(part, g, n) += distance * distance;
        of_parts(part, g, n) = Tuple(part_mean(part, g, n), part_sq(part, g, n));

        RDom p(0, parts, "part");
        sum(g, n) += of_parts(p, g, n)[0] * count(p);
        const Expr shift = sum(g, n) / cast<float>(channels * pixels);
        mean(g, n) = first(channels) + shift;
        const Expr moved = of_parts(p, g, n)[0] - shift;
        sum_sq(g, n) += of_parts(p, g, n)[1] + moved * moved * count(p);
    }

    Var w{"w"}, h{"h"}, c{"c"}, g{"g"}, n{"n"}, part{"part"};
    Func part_sum{"part_sum"}, part_mean{"part_mean"}, part_sq{"part_sq"}, of_parts{"of_parts"};
    Func sum{"sum"}, mean{"mean"}, sum_sq{"sum_sq"}, inv_std{"inv_std"}, channel_scale{"channel_scale"}, channel_shift{"channel_shift"},
        normalised{"normalised"}, activated{"activated"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(GroupNorm, group_norm)
