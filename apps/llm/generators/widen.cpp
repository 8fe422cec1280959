// Rows of 16 bits as f32: y = x.

#include <Halide.h>

#include "math/elements.h"

namespace {

using namespace Halide;
using namespace halyard;

class Widen : public Generator<Widen> {
public:
    GeneratorParam<Type> type{"type", Float(16)};  // of x: float16 or bfloat16

    Input<Buffer<void, 2>> x{"x"};    // [cols, rows]
    Output<Buffer<float, 2>> y{"y"};  // the same

    void configure() {
        x.set_type(storage_type(type));
    }

    void generate() {
        y(col, row) = load_f32(x(col, row));
    }

private:
    Var col{"col"}, row{"row"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Widen, widen)
