// A bilateral filter by a grid of places and brightness: pixels are added to its cells, the cells are blurred and looked
// up between. A stock generator that knows nothing of Halyard and has no schedule.

#include <Halide.h>

namespace {

using namespace Halide;

class BilateralGrid : public Generator<BilateralGrid> {
public:
    GeneratorParam<int> cell{"cell", 8, 2, 64};  // pixels of its side

    Input<Buffer<float, 2>> input{"input"};  // [x, y]
    Input<float> step{"step"};               // of brightness
    Output<Buffer<float, 2>> smooth{"smooth"};

    void generate() {
        const Var x("x"), y("y"), z("z"), c("c");
        const int s = cell;
        const Func edge = BoundaryConditions::repeat_edge(input);
        Func grid("grid"), deep("deep"), across("across"), down("down"), between("between");
        const RDom r(0, s, 0, s);
        const Expr value = clamp(edge(x * s + r.x - s / 2, y * s + r.y - s / 2), 0.0f, 1.0f);
        grid(x, y, z, c) = 0.0f;
        grid(x, y, cast<int>(value / step + 0.5f), c) += select(c == 0, value, 1.0f);
        const auto blur = [](const std::function<Expr(int)> &f) { return f(-2) + 4 * f(-1) + 6 * f(0) + 4 * f(1) + f(2); };
        deep(x, y, z, c) = blur([&](int d) { return grid(x, y, z + d, c); });
        across(x, y, z, c) = blur([&](int d) { return deep(x + d, y, z, c); });
        down(x, y, z, c) = blur([&](int d) { return across(x, y + d, z, c); });
        const Expr at = clamp(edge(x, y), 0.0f, 1.0f) / step, zi = cast<int>(at), zf = at - zi;
        const Expr xf = cast<float>(x % s) / s, yf = cast<float>(y % s) / s;
        const Expr xi = x / s, yi = y / s;
        const auto plane = [&](const Expr &k) {
            return lerp(lerp(down(xi, yi, k, c), down(xi + 1, yi, k, c), xf), lerp(down(xi, yi + 1, k, c), down(xi + 1, yi + 1, k, c), xf),
                        yf);
        };
        between(x, y, c) = lerp(plane(zi), plane(zi + 1), zf);
        smooth(x, y) = between(x, y, 0) / between(x, y, 1);
        step.set_estimate(0.1f);
        input.set_estimates({{0, 1536}, {0, 2560}});
        smooth.set_estimates({{0, 1536}, {0, 2560}});
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(BilateralGrid, bilateral_grid)
