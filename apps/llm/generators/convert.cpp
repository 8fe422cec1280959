// Rows in another type: y = x.

#include <Halide.h>

#include "math/elements.h"

namespace {

using namespace Halide;
using namespace halyard;

class Convert : public Generator<Convert> {
public:
    GeneratorParam<Type> from{"from", Float(16)}, to{"to", Float(32)};  // float32, float16 or bfloat16

    Input<Buffer<void, 2>> x{"x"};   // [cols, rows]
    Output<Buffer<void, 2>> y{"y"};  // the same

    void configure() {
        x.set_type(storage_type(from));
        y.set_type(storage_type(to));
    }

    void generate() {
        y(col, row) = store_as(to, load_f32(x(col, row)));
    }

private:
    Var col{"col"}, row{"row"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Convert, convert)
