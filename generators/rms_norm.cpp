// RMSNorm: y = h / sqrt(mean(h^2) + eps) * weight, over the columns of each row; h is x, or x + residual.
// Zhang and Sennrich, Root Mean Square Layer Normalization, 2019.
//
// x + residual is rounded to the storage type, as it goes out in residual_out, and the statistics are of
// what was rounded: what comes of torch's x = x + residual; rms_norm(x), and of vLLM's fused kernel.

#include <Halide.h>

#include "math/elements.h"
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
    /** Of an 8-bit output. tensor: y_scale and y_zero_point are given. row: y / row_scale(row), which
     * goes out too and takes the largest of the row to 127; int8 only. */
    GeneratorParam<Scaling> scaling{"scaling", Scaling::kTensor, scalings()};

    Input<Buffer<void, 2>> x{"x"};            // [cols, rows]
    Input<Buffer<>> *residual = nullptr;      // [cols, rows]
    Input<Buffer<void, 1>> weight{"weight"};  // [cols]
    Input<float> eps{"eps"};
    Input<float> *y_scale = nullptr;
    Input<int32_t> *y_zero_point = nullptr;
    Output<Buffer<void, 2>> y{"y"};            // [cols, rows]
    Output<Buffer<>> *residual_out = nullptr;  // [cols, rows]
    Output<Buffer<>> *row_scale = nullptr;     // [rows]

    void configure() {
        x.set_type(storage_type(type));
        weight.set_type(type);
        y.set_type(stored_type(output, type));
        if (add_residual) {
            residual = add_input<Buffer<>>("residual", type, 2);
            residual_out = add_output<Buffer<>>("residual_out", type, 2);
        }
        if (check_scaling(output, scaling) == Scaling::kRow) {
            row_scale = add_output<Buffer<>>("row_scale", Float(32), 1);
        } else if (is_quantized(output)) {
            y_scale = add_input<float>("y_scale");
            y_zero_point = add_input<int32_t>("y_zero_point");
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
        const Expr normed = h(col, row) * inv_rms(row) * load_f32(weight(col));
        if (row_scale) {
            // Magnitudes as integers in their order: a NaN is the largest, where a maximum of floats forgets what it had before one.
            peak(row) = 0;
            peak(row) = max(peak(row), f32_bits(h(r, row) * load_f32(weight(r))) & 0x7fffffff);
            const Expr largest = reinterpret<float>(peak(row));
            (*row_scale)(row) = largest * inv_rms(row) * (1 / 127.0f);
            row_scale->dim(0).set_bounds(y.dim(1).min(), y.height());
            inv_scale(row) = 127.0f / (largest * inv_rms(row));
            y(col, row) = quantize(output, normed, inv_scale(row), 0);
        } else if (y_scale) {
            y(col, row) = quantize(output, normed, 1.0f / *y_scale, *y_zero_point);
        } else {
            y(col, row) = store_as(stored_type(output, type), normed);
        }
    }

private:
    Var col{"col"}, row{"row"};
    Func added{"added"}, h{"h"}, sum_sq{"sum_sq"}, inv_rms{"inv_rms"}, peak{"peak"}, inv_scale{"inv_scale"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(RmsNorm, rms_norm)
