// Pixels without a value are filled from a pyramid of ever coarser pictures, as Halide's interpolate does it. A stock
// generator that knows nothing of Halyard and has no schedule.

#include <Halide.h>

namespace {

using namespace Halide;

class PyramidFill : public Generator<PyramidFill> {
public:
    GeneratorParam<int> levels{"levels", 8, 2, 12};

    Input<Buffer<float, 3>> input{"input"};  // [x, y, channel]; the last of 4 channels says how much of a pixel is known
    Output<Buffer<float, 3>> filled{"filled"};

    void generate() {
        const Var x("x"), y("y"), c("c");
        const Func edge = BoundaryConditions::repeat_edge(input, {{0, input.width()}, {0, input.height()}, {0, 4}});
        std::vector<Func> down(levels), up(levels);
        down[0] = Func("down_0");
        const Expr known = abs(edge(x, y, 3));  // of numbers of both signs a sum may be near 0, by which nothing can be divided
        down[0](x, y, c) = select(c < 3, edge(x, y, c) * known, known);
        for (int l = 1; l < levels; l++) {
            const std::string name = std::to_string(l);
            const Func &finer = down[l - 1];
            Func across("across_" + name);
            across(x, y, c) = 0.25f * (finer(2 * x - 1, y, c) + 2.0f * finer(2 * x, y, c) + finer(2 * x + 1, y, c));
            down[l] = Func("down_" + name);
            down[l](x, y, c) = 0.25f * (across(x, 2 * y - 1, c) + 2.0f * across(x, 2 * y, c) + across(x, 2 * y + 1, c));
        }
        up[levels - 1] = down[levels - 1];
        for (int l = levels - 2; l >= 0; l--) {
            const std::string name = std::to_string(l);
            const Func &coarser = up[l + 1];
            Func between("between_" + name);
            between(x, y, c) = 0.5f * (coarser(x / 2, y, c) + coarser((x + 1) / 2, y, c));
            up[l] = Func("up_" + name);
            const Expr wide = 0.5f * (between(x, y / 2, c) + between(x, (y + 1) / 2, c));
            up[l](x, y, c) = down[l](x, y, c) + (1.0f - down[l](x, y, 3)) * wide;
        }
        filled(x, y, c) = up[0](x, y, c) / max(up[0](x, y, 3), 1e-6f);
        filled.dim(2).set_bounds(0, 3);
        input.dim(2).set_bounds(0, 4);
        input.set_estimates({{0, 1536}, {0, 2560}, {0, 4}});
        filled.set_estimates({{0, 1536}, {0, 2560}, {0, 3}});
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(PyramidFill, pyramid_fill)
