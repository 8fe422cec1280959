// A 3x3 box blur of 16 bits in two passes, as Halide's apps have one: x, then y. A stock generator that knows nothing of
// Halyard and has no schedule.

#include <Halide.h>

namespace {

using namespace Halide;

class Blur : public Generator<Blur> {
public:
    Input<Buffer<uint16_t, 2>> input{"input"};
    Output<Buffer<uint16_t, 2>> blurred{"blurred"};

    void generate() {
        const Var x("x"), y("y");
        Func across("across");
        across(x, y) = (input(x, y) + input(x + 1, y) + input(x + 2, y)) / 3;
        blurred(x, y) = (across(x, y) + across(x, y + 1) + across(x, y + 2)) / 3;
        input.set_estimates({{0, 1538}, {0, 2562}});
        blurred.set_estimates({{0, 1536}, {0, 2560}});
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Blur, blur)
