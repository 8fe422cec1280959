#include <Halide.h>

class Blur : public Halide::Generator<Blur> {
public:
    Input<Halide::Buffer<float, 2>> in{"in"};
    Output<Halide::Buffer<float, 2>> blur_y{"blur_y"};

    void generate() {
        Halide::Var x("x"), y("y");
        Halide::Func blur_x("blur_x");
        blur_x(x, y) = (in(x, y) + in(x + 1, y) + in(x + 2, y)) / 3;
        blur_y(x, y) = (blur_x(x, y) + blur_x(x, y + 1) + blur_x(x, y + 2)) / 3;
    }
};

HALIDE_REGISTER_GENERATOR(Blur, blur)
