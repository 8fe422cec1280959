// RMSNorm: y = h / sqrt(mean(h^2) + eps) * weight, over the columns of each row; h is x, or x + residual.
// Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.
//
// x + residual is rounded to the storage type, as it goes out in residual_out, and the statistics are of
// what was rounded: what comes of torch's x = x + residual; rms_norm(x), and of vLLM's fused kernel.

#include <Halide.h>

#include "math/elements.h"
#include "math/own_scale.h"
#include "math/quantize.h"
#include "math/rms.h"

namespace {

using namespace Halide;
using namespace halyard;

class RmsNorm : public Generator<RmsNorm> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    GeneratorParam<bool> add_residual{"add_residual", false};
    GeneratorParam<OutputType> output{"output", OutputType::kSame, output_types()};
    /** Of an 8-bit output. tensor: y_scale and y_zero_point are given. row: y / row_scale(row), which goes out too and takes the
     * largest of the row to the largest of the type; block: the same of each 128 columns of a row. */
    GeneratorParam<ScaleOf> scaling{"scaling", ScaleOf::kTensor, scales_of()};

    Input<Buffer<void, 2>> x{"x"};            // [cols, rows]
    Input<Buffer<>> *residual = nullptr;      // [cols, rows]
    Input<Buffer<void, 1>> weight{"weight"};  // [cols]
    Input<float> eps{"eps"};
    Stored stored;
    Output<Buffer<void, 2>> y{"y"};            // [cols, rows]
    Output<Buffer<>> *residual_out = nullptr;  // [cols, rows]
    OwnScale own_scale;                        // [rows], or [ceil(cols / 128), rows]

    void configure() {
        x.set_type(storage_type(type));
        weight.set_type(type);
        y.set_type(stored_type(output, type));
        if (add_residual) {
            residual = add_input<Buffer<>>("residual", type, 2);
            residual_out = add_output<Buffer<>>("residual_out", type, 2);
        }
        own_scale.add_to(*this, output, scaling);
        if (!own_scale) {
            stored.add_to(*this, "y", output, type);
        }
    }

    void generate() {
        RDom r(0, x.width(), "col");
        Expr v = load_f32(x(col, row));
        if (add_residual) {
            added(col, row) = store_as(type, v + load_f32((*residual)(col, row)));
            v = load_f32(added(col, row));
            (*residual_out)(col, row) = added(col, row);
            residual->dim(0).set_bounds(x.dim(0).min(), x.width());
            residual_out->dim(0).set_bounds(y.dim(0).min(), y.width());
            residual_out->dim(1).set_bounds(y.dim(1).min(), y.height());
        }
        h(col, row) = v;
        sum_sq(row) += h(r, row) * h(r, row);
        inv_rms(row) = inverse_rms(sum_sq(row), x.width(), eps);
        const auto weighted = [&](const Expr &at) { return h(at, row) * load_f32(weight(at)); };
        if (own_scale) {
            y(col, row) = own_scale(weighted, inv_rms(row), col, row, x.width(), y, get_target());
        } else {
            y(col, row) = stored(h(col, row) * inv_rms(row) * load_f32(weight(col)), get_target());
        }
    }

private:
    Var col{"col"}, row{"row"};
    Func added{"added"}, h{"h"}, sum_sq{"sum_sq"}, inv_rms{"inv_rms"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(RmsNorm, rms_norm)
