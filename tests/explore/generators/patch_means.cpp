// Means of pixels near each, weighed by how alike the patches around them are, as Halide's nl_means has it. A stock
// generator that knows nothing of Halyard and has no schedule.

#include <Halide.h>

namespace {

using namespace Halide;

class PatchMeans : public Generator<PatchMeans> {
public:
    Input<Buffer<float, 3>> input{"input"};  // [x, y, channel]
    Input<int> patch{"patch"};               // pixels of its side
    Input<int> area{"area"};                 // the side of the square of pixels that are looked at
    Input<float> sigma{"sigma"};
    Output<Buffer<float, 3>> mean{"mean"};

    void generate() {
        const Var x("x"), y("y"), c("c"), dx("dx"), dy("dy");
        const Func edge = BoundaryConditions::repeat_edge(input);
        Func apart("apart"), down("down"), patches("patches"), weight("weight"), known("known"), sums("sums");
        Expr squares = 0.0f;
        for (int i = 0; i < 3; i++) {
            const Expr d = edge(x, y, i) - edge(x + dx, y + dy, i);
            squares += d * d;
        }
        apart(x, y, dx, dy) = squares;
        const RDom side(-(patch / 2), patch), near(-(area / 2), area, -(area / 2), area);
        down(x, y, dx, dy) += apart(x, y + side, dx, dy);
        patches(x, y, dx, dy) += down(x + side, y, dx, dy);
        weight(x, y, dx, dy) = fast_exp(patches(x, y, dx, dy) * (-1.0f / (sigma * sigma * patch * patch)));
        known(x, y, c) = mux(c, {edge(x, y, 0), edge(x, y, 1), edge(x, y, 2), 1.0f});
        sums(x, y, c) += weight(x, y, near.x, near.y) * known(x + near.x, y + near.y, c);
        mean(x, y, c) = clamp(sums(x, y, c) / sums(x, y, 3), 0.0f, 1.0f);
        mean.dim(2).set_bounds(0, 3);
        patch.set_estimate(7);
        area.set_estimate(7);
        sigma.set_estimate(0.12f);
        input.set_estimates({{0, 614}, {0, 1024}, {0, 3}});
        mean.set_estimates({{0, 614}, {0, 1024}, {0, 3}});
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(PatchMeans, patch_means)
