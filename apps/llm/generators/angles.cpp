// The angles by which the heads of tokens are turned (rotation.h), once for all layers.

#include <Halide.h>

#include "rotation.h"

namespace {

using namespace Halide;

class Angles : public Generator<Angles> {
public:
    Input<Buffer<int32_t, 1>> positions{"positions"};    // [tokens]
    Input<Buffer<float, 1>> frequencies{"frequencies"};  // [pairs]: angle = position * frequency
    Output<Buffer<float, 3>> angles{"angles"};           // [pairs, 2, tokens]: the cosine and the sine

    void generate() {
        angle(pair, token) = halyard_llm::angle_of(positions(token), frequencies(pair));
        angles(pair, part, token) = select(part == 0, angle(pair, token)[0], angle(pair, token)[1]);
        angles.dim(0).set_bounds(0, frequencies.dim(0).extent());
        angles.dim(1).set_bounds(0, 2);
        angles.dim(2).set_bounds(0, positions.dim(0).extent());
    }

    Var pair{"pair"}, part{"part"}, token{"token"};
    Func angle{"angle"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Angles, angles)
