// Harris corners, as Halide's apps have them: gradients of the brightness by Sobel's filter, their products summed over
// 3x3, and the corner response of these. A stock generator that knows nothing of Halyard and has no schedule.

#include <Halide.h>

namespace {

using namespace Halide;

class Harris : public Generator<Harris> {
public:
    Input<Buffer<float, 3>> input{"input"};  // [x, y, channel]
    Output<Buffer<float, 2>> corners{"corners"};

    void generate() {
        const Var x("x"), y("y");
        Func clamped = BoundaryConditions::repeat_edge(input), gray("gray"), dx("dx"), dy("dy"), xx("xx"), yy("yy"), xy("xy"),
             sum_xx("sum_xx"), sum_yy("sum_yy"), sum_xy("sum_xy");
        gray(x, y) = 0.299f * clamped(x, y, 0) + 0.587f * clamped(x, y, 1) + 0.114f * clamped(x, y, 2);
        const auto smooth = [&](int i, int j, int along_x) {  // 1 2 1 along one dimension
            const auto at = [&](int k) { return along_x ? gray(x + k, y + j) : gray(x + i, y + k); };
            return at(-1) + 2.0f * at(0) + at(1);
        };
        dx(x, y) = (smooth(1, 0, 0) - smooth(-1, 0, 0)) / 12.0f;
        dy(x, y) = (smooth(0, 1, 1) - smooth(0, -1, 1)) / 12.0f;
        xx(x, y) = dx(x, y) * dx(x, y);
        yy(x, y) = dy(x, y) * dy(x, y);
        xy(x, y) = dx(x, y) * dy(x, y);
        const auto box = [&](Func &f) {
            Expr sum = 0.0f;
            for (int j = -1; j <= 1; j++) {
                for (int i = -1; i <= 1; i++) {
                    sum += f(x + i, y + j);
                }
            }
            return sum;
        };
        sum_xx(x, y) = box(xx);
        sum_yy(x, y) = box(yy);
        sum_xy(x, y) = box(xy);
        const Expr trace = sum_xx(x, y) + sum_yy(x, y);
        corners(x, y) = sum_xx(x, y) * sum_yy(x, y) - sum_xy(x, y) * sum_xy(x, y) - 0.04f * trace * trace;
        input.set_estimates({{0, 1536}, {0, 2560}, {0, 3}});
        corners.set_estimates({{0, 1536}, {0, 2560}});
    }
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Harris, harris)
