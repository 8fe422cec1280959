// A recursive filter down and up each column, then along the rows by the same on the transposed picture, as Halide's
// iir_blur has it. A stock generator that knows nothing of Halyard and has no schedule.

#include <Halide.h>

namespace {

using namespace Halide;

class RecursiveBlur : public Generator<RecursiveBlur> {
public:
    Input<Buffer<float, 3>> input{"input"};  // [x, y, channel]
    Input<float> weight{"weight"};           // of the new value
    Output<Buffer<float, 3>> smooth{"smooth"};

    void generate() {
        const Func rows = columns_turned(input, input.width(), input.height(), "down");
        smooth(x, y, c) = columns_turned(rows, input.height(), input.width(), "across")(x, y, c);
        weight.set_estimate(0.5f);
        input.set_estimates({{0, 1536}, {0, 2560}, {0, 3}});
        smooth.set_estimates({{0, 1536}, {0, 2560}, {0, 3}});
    }

private:
    Func columns_turned(const Func &of, const Expr &, const Expr &height, const std::string &name) {
        Func scan(name), turned(name + "_turned");
        const RDom r(1, height - 1);
        scan(x, y, c) = undef<float>();
        scan(x, 0, c) = of(x, 0, c);
        scan(x, r, c) = (1 - weight) * scan(x, r - 1, c) + weight * of(x, r, c);
        const Expr back = height - 1 - r;
        scan(x, back, c) = (1 - weight) * scan(x, back + 1, c) + weight * scan(x, back, c);
        turned(x, y, c) = scan(y, x, c);
        return turned;
    }

    const Var x{"x"}, y{"y"}, c{"c"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(RecursiveBlur, recursive_blur)
