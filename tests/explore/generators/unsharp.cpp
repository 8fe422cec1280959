// Unsharp masking, as Halide's apps have it: the brightness less its Gaussian blur (7 by 7, in two passes) sharpens a
// colour picture. A stock generator that knows nothing of Halyard and has no schedule.

#include <cmath>

#include <Halide.h>

namespace {

using namespace Halide;

class Unsharp : public Generator<Unsharp> {
public:
    GeneratorParam<float> sigma{"sigma", 1.5f};

    Input<Buffer<float, 3>> input{"input"};  // [x, y, channel]
    Output<Buffer<float, 3>> sharp{"sharp"};

    void generate() {
        const Var x("x"), y("y"), c("c");
        Func clamped = BoundaryConditions::repeat_edge(input), gray("gray"), down("down"), across("across"), ratio("ratio");
        gray(x, y) = 0.299f * clamped(x, y, 0) + 0.587f * clamped(x, y, 1) + 0.114f * clamped(x, y, 2);
        const auto weight = [&](int i) { return std::exp(-float(i * i) / (2 * sigma * sigma)) / (std::sqrt(2 * 3.14159265f) * sigma); };
        const auto blur = [&](Func &f, int dx, int dy) {
            Expr sum = weight(0) * f(x, y);
            for (int i = 1; i <= 3; i++) {
                sum += weight(i) * (f(x - i * dx, y - i * dy) + f(x + i * dx, y + i * dy));
            }
            return sum;
        };
        down(x, y) = blur(gray, 0, 1);
        across(x, y) = blur(down, 1, 0);
        ratio(x, y) = (2.0f * gray(x, y) - across(x, y)) / max(gray(x, y), 0.01f);  // black stays black
        sharp(x, y, c) = ratio(x, y) * input(x, y, c);
        input.set_estimates({{0, 1536}, {0, 2560}, {0, 3}});
        sharp.set_estimates({{0, 1536}, {0, 2560}, {0, 3}});
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Unsharp, unsharp)
