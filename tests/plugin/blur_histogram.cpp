// A stock Halide generator that knows nothing of Halyard: a 3x3 box blur, and the histogram of
// what it gives.

#include <Halide.h>

namespace {

using namespace Halide;

class BlurHistogram : public Generator<BlurHistogram> {
public:
    Input<Buffer<uint8_t, 2>> input{"input"};
    Output<Buffer<uint8_t, 2>> blurred{"blurred"};
    Output<Buffer<uint32_t, 1>> histogram{"histogram"};

    void generate() {
        Var x("x"), y("y"), bin("bin");
        Func clamped = BoundaryConditions::repeat_edge(input), wide("wide"), blur_x("blur_x"), blur_y("blur_y");
        wide(x, y) = cast<uint16_t>(clamped(x, y));
        blur_x(x, y) = wide(x - 1, y) + wide(x, y) + wide(x + 1, y);
        blur_y(x, y) = blur_x(x, y - 1) + blur_x(x, y) + blur_x(x, y + 1);
        blurred(x, y) = cast<uint8_t>(blur_y(x, y) / 9);

        RDom pixel(0, input.width(), 0, input.height(), "pixel");
        histogram(bin) = cast<uint32_t>(0);
        histogram(clamp(cast<int>(blur_y(pixel.x, pixel.y) / 9), 0, 255)) += cast<uint32_t>(1);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(BlurHistogram, blur_histogram)
