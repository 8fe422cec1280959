// The largest value in a disc around each pixel, by maxima of columns of 1, 2, 4... pixels, as Halide's max_filter has
// it. A stock generator that knows nothing of Halyard and has no schedule.

#include <cmath>

#include <Halide.h>

namespace {

using namespace Halide;

class CircleMax : public Generator<CircleMax> {
public:
    GeneratorParam<int> radius{"radius", 26, 1, 100};

    Input<Buffer<float, 3>> input{"input"};  // [x, y, channel]
    Output<Buffer<float, 3>> largest{"largest"};

    void generate() {
        const Var x("x"), y("y"), c("c"), t("t"), dx("dx");
        const Func edge = BoundaryConditions::repeat_edge(input, {{0, input.width()}, {0, input.height()}});
        const int r = radius, slices = int(std::ceil(std::log2(double(r)))) + 1;
        // Of 2^t pixels from there down.
        Func column("column"), height("height"), slice("slice"), tallest("tallest");
        column(x, y, c, t) = undef<float>();
        column(x, y, c, 0) = edge(x, y, c);
        RDom step(-r, input.height() + 2 * r, 1, slices - 1);
        column(x, step.x, c, step.y) =
            max(column(x, step.x, c, step.y - 1), column(x, step.x + clamp(1 << (step.y - 1), 0, 2 * r), c, step.y - 1));
        RDom across(-r, 2 * r + 1);
        height(dx) = cast<int>(floor(sqrt(float((r + 0.25f) * (r + 0.25f)) - dx * dx)));
        const Expr half = clamp(height(dx), 0, r);
        const Expr tall = 2 * half + 1, bits = clamp(cast<int>(floor(log(cast<float>(tall)) / logf(2))), 0, slices - 1);
        slice(dx) = cast<uint8_t>(bits);
        const Expr s = clamp(cast<int>(slice(dx)), 0, slices - 1), top = y - half, last = y + half - (1 << s) + 1;
        tallest(x, y, c, dx) = max(column(x, top, c, s), column(x, clamp(last, y - r, y + r), c, s));
        largest(x, y, c) = maximum(tallest(x + across, y, c, across));
        input.set_estimates({{0, 1536}, {0, 2560}, {0, 3}});
        largest.set_estimates({{0, 1536}, {0, 2560}, {0, 3}});
    }

private:
    static float logf(float f) {
        return std::log(f);
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(CircleMax, circle_max)
