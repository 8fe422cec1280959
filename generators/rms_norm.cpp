// RMSNorm: y = x / sqrt(mean(x^2) + eps) * weight, over the columns of each row.
// Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.

#include <Halide.h>

#include "math/elements.h"

namespace {

using namespace Halide;
using namespace halyard;

class RmsNorm : public Generator<RmsNorm> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16

    Input<Buffer<void, 2>> x{"x"};            // [cols, rows]
    Input<Buffer<void, 1>> weight{"weight"};  // [cols]
    Input<float> eps{"eps"};
    Output<Buffer<void, 2>> y{"y"};  // [cols, rows]

    void configure() {
        x.set_type(storage_type(type));
        weight.set_type(type);
        y.set_type(type);
    }

    void generate() {
        RDom r(0, x.width(), "col");
        sum_sq(row) += load_f32(x(r, row)) * load_f32(x(r, row));
        inv_rms(row) = 1.0f / sqrt(sum_sq(row) / cast<float>(x.width()) + eps);
        y(col, row) = store_as(type, load_f32(x(col, row)) * inv_rms(row) * load_f32(weight(col)));
    }

private:
    Var col{"col"}, row{"row"};
    Func sum_sq{"sum_sq"}, inv_rms{"inv_rms"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(RmsNorm, rms_norm)
