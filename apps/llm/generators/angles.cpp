// The angles by which a token's heads are turned (rotation.h), once for all layers.

#include <Halide.h>

#include "rotation.h"

namespace {

using namespace Halide;

class Angles : public Generator<Angles> {
public:
    Input<Buffer<int32_t, 1>> positions{"positions"};    // [1]
    Input<Buffer<float, 1>> frequencies{"frequencies"};  // [pairs]: angle = position * frequency
    Output<Buffer<float, 2>> angles{"angles"};           // [pairs, 2]: the cosine and the sine

    void generate() {
        const Expr position = positions(min(pair, positions.dim(0).extent() - 1));
        angle(pair) = halyard_llm::angle_of(position, frequencies(pair));
        angles(pair, part) = select(part == 0, angle(pair)[0], angle(pair)[1]);
        angles.dim(0).set_bounds(0, frequencies.dim(0).extent());
        angles.dim(1).set_bounds(0, 2);
    }

    Var pair{"pair"}, part{"part"};
    Func angle{"angle"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Angles, angles)
