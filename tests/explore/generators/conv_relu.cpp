// A layer of a network: 3 by 3 windows of all channels, a bias, and no negative values. A stock generator that knows
// nothing of Halyard and has no schedule.

#include <Halide.h>

namespace {

using namespace Halide;

class ConvRelu : public Generator<ConvRelu> {
public:
    GeneratorParam<int> width{"width", 100, 1, 1000};

    Input<Buffer<float, 4>> input{"input"};    // [channel, x, y, n]
    Input<Buffer<float, 4>> filter{"filter"};  // [output channel, dx, dy, channel]
    Input<Buffer<float, 1>> bias{"bias"};
    Output<Buffer<float, 4>> relu{"relu"};

    void generate() {
        const Var c("c"), x("x"), y("y"), n("n");
        Func conv("conv");
        const int width = this->width, height = std::max(width * 4 / 5, 1), images = std::max(width / 20, 1);
        const RDom r(0, 128, 0, 3, 0, 3);
        conv(c, x, y, n) = bias(c);
        conv(c, x, y, n) += filter(c, r.y, r.z, r.x) * input(r.x, x + r.y, y + r.z, n);
        relu(c, x, y, n) = max(0.0f, conv(c, x, y, n));
        input.set_estimates({{0, 128}, {0, width}, {0, height}, {0, images}});  // as people write it, without the borders that are read
        filter.set_estimates({{0, 128}, {0, 3}, {0, 3}, {0, 128}});
        bias.set_estimates({{0, 128}});
        relu.set_estimates({{0, 128}, {0, width}, {0, height}, {0, images}});
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(ConvRelu, conv_relu)
