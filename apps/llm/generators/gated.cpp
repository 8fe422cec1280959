// The middle of a gated feed-forward block, where both products lie in memory: y = activation(gate) * up.

#include <Halide.h>

#include "math/activation.h"

namespace {

using namespace Halide;
using namespace halyard;

class Gated : public Generator<Gated> {
public:
    GeneratorParam<Activation> activation{"activation", Activation::kSilu, activations()};

    Input<Buffer<float, 2>> gate{"gate"};  // [cols, rows]
    Input<Buffer<float, 2>> up{"up"};      // [cols, rows]
    Output<Buffer<float, 2>> y{"y"};       // [cols, rows]

    void generate() {
        activated(col, row) = activate(activation, gate(col, row), get_target());
        y(col, row) = activated(col, row) * up(col, row);
    }

private:
    Var col{"col"}, row{"row"};
    Func activated{"activated"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Gated, gated)
