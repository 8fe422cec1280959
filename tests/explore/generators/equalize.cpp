// Histogram equalization of the brightness of a colour picture, as Halide's hist has it: counts, their running sum, and a
// table that is looked up. A stock generator that knows nothing of Halyard and has no schedule.

#include <Halide.h>

namespace {

using namespace Halide;

class Equalize : public Generator<Equalize> {
public:
    Input<Buffer<uint8_t, 3>> input{"input"};  // [x, y, channel]
    Output<Buffer<uint8_t, 3>> even{"even"};

    void generate() {
        const Var x("x"), y("y"), c("c"), i("i");
        Func bright("bright"), blue("blue"), red("red"), counts("counts"), sums("sums"), table("table"), after("after");
        const auto channel = [&](int n) { return cast<float>(input(x, y, n)); };
        bright(x, y) = 0.299f * channel(0) + 0.587f * channel(1) + 0.114f * channel(2);
        red(x, y) = (channel(0) - bright(x, y)) * 0.713f + 128.0f;
        blue(x, y) = (channel(2) - bright(x, y)) * 0.564f + 128.0f;
        const RDom all(input), steps(1, 255);
        const RDom pixels(0, input.width(), 0, input.height());
        counts(i) = 0;
        counts(cast<int>(clamp(bright(pixels.x, pixels.y), 0.0f, 255.0f))) += 1;
        sums(i) = counts(0);
        sums(steps) = sums(steps - 1) + counts(steps);
        table(i) = clamp(cast<float>(sums(i)) * (255.0f / (input.width() * input.height())), 0.0f, 255.0f);
        after(x, y) = table(cast<int>(clamp(bright(x, y), 0.0f, 255.0f)));
        const Expr r = after(x, y) + (red(x, y) - 128.0f) * 1.403f, b = after(x, y) + (blue(x, y) - 128.0f) * 1.773f;
        const Expr g = after(x, y) - (red(x, y) - 128.0f) * 0.714f - (blue(x, y) - 128.0f) * 0.344f;
        even(x, y, c) = cast<uint8_t>(clamp(select(c == 0, r, c == 1, g, b), 0.0f, 255.0f));
        input.dim(2).set_bounds(0, 3);
        even.dim(2).set_bounds(0, 3);
        input.set_estimates({{0, 1536}, {0, 2560}, {0, 3}});
        even.set_estimates({{0, 1536}, {0, 2560}, {0, 3}});
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Equalize, equalize)
