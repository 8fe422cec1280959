// A chain of stencils, each 5 by 5 over the one before, as Halide's apps have it. A stock generator that knows nothing of
// Halyard and has no schedule; with 300 stages it asks whether planning is polynomial.

#include <Halide.h>

namespace {

using namespace Halide;

class StencilChain : public Generator<StencilChain> {
public:
    GeneratorParam<int> stages{"stages", 32, 1, 1000};

    Input<Buffer<uint16_t, 2>> input{"input"};  // [x, y]
    Output<Buffer<uint16_t, 2>> smooth{"smooth"};

    void generate() {
        const Var x("x"), y("y");
        Func last = BoundaryConditions::repeat_edge(input);
        for (int s = 0; s < stages; s++) {
            Func next("stage_" + std::to_string(s));
            Expr sum = cast<uint16_t>(0);
            for (int dy = -2; dy <= 2; dy++) {
                for (int dx = -2; dx <= 2; dx++) {
                    sum += last(x + dx, y + dy) * cast<uint16_t>(6 - abs(dx) - abs(dy));
                }
            }
            next(x, y) = sum;
            last = next;
        }
        smooth(x, y) = last(x, y);
        input.set_estimates({{0, 1536}, {0, 2560}});
        smooth.set_estimates({{0, 1536}, {0, 2560}});
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(StencilChain, stencil_chain)
