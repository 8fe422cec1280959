// Rotary position embedding (math/rope.h) of each head of each token.

#include <Halide.h>

#include "math/elements.h"
#include "math/rope.h"

namespace {

using namespace Halide;
using namespace halyard;

class Rope : public Generator<Rope> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    Rotation rotation;

    Input<Buffer<void, 3>> x{"x"};   // [d, heads, tokens]
    Output<Buffer<void, 3>> y{"y"};  // [d, heads, tokens]

    void configure() {
        x.set_type(storage_type(type));
        y.set_type(type);
        rotation.add_to(*this);
    }

    void generate() {
        const Expr d = x.dim(0).extent();
        rotation.define(*this, "rope", d);
        x_f(i, head, token) = load_f32(x(i, head, token));  // behind which a schedule keeps a vector
        const auto neighbour = [&](const Expr &at) { return x_f(at, head, token); };
        const auto other = [&](const Expr &at) { return load_f32(x(at, head, token)); };
        y(i, head, token) = store_as(type, rotation.turned("", i, head, token, x_f(i, head, token), neighbour, other));
        y.dim(0).set_bounds(0, d);
        x.dim(0).set_min(0);
    }

private:
    Var i{"i"}, head{"head"}, token{"token"};
    Func x_f{"x_f"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Rope, rope)
