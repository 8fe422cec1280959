// LayerNorm: y = (h - mean) / sqrt(var + eps) * weight + bias, over the columns of each row; h is x, or
// x + residual. Ba, Kiros and Hinton, Layer Normalization, 2016.
//
// x + residual is rounded to the storage type, as it goes out in residual_out, and the statistics are of
// what was rounded: what comes of torch's x = x + residual; layer_norm(x).

#include <Halide.h>

#include "math/elements.h"
#include "math/own_scale.h"
#include "math/quantize.h"

namespace {

using namespace Halide;
using namespace halyard;

enum class Statistics { kTwoPass, kOnePass };

class LayerNorm : public Generator<LayerNorm> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    /** two_pass: the mean, then the squares of the distances from it. one_pass: sum and sum of squares together. What is summed
     * are the distances from the row's first element, so that a mean far from zero costs no digits, and that of a constant row
     * is exact. */
    GeneratorParam<Statistics> statistics{
        "statistics", Statistics::kTwoPass, {{"two_pass", Statistics::kTwoPass}, {"one_pass", Statistics::kOnePass}}};

    GeneratorParam<bool> add_residual{"add_residual", false};
    GeneratorParam<OutputType> output{"output", OutputType::kSame, output_types()};
    /** Of an 8-bit output. tensor: y_scale and y_zero_point are given. row: y / row_scale(row), which goes out too and takes the
     * largest of the row to the largest of the type; block: the same of each 128 columns of a row. */
    GeneratorParam<ScaleOf> scaling{"scaling", ScaleOf::kTensor, scales_of()};

    Input<Buffer<void, 2>> x{"x"};            // [cols, rows]
    Input<Buffer<>> *residual = nullptr;      // [cols, rows]
    Input<Buffer<void, 1>> weight{"weight"};  // [cols]
    Input<Buffer<void, 1>> bias{"bias"};      // [cols]
    Input<float> eps{"eps"};
    Stored stored;
    Output<Buffer<void, 2>> y{"y"};            // [cols, rows]
    Output<Buffer<>> *residual_out = nullptr;  // [cols, rows]
    OwnScale own_scale;                        // [rows], or [ceil(cols / 128), rows]

    void configure() {
        x.set_type(storage_type(type));
        weight.set_type(type);
        bias.set_type(type);
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
        const Expr n = cast<float>(x.width());
        RDom r(0, x.width(), "col");
        Expr first = h(0, row);
        if (own_scale) {  // which are of rows without columns too
            RDom r_first(0, min(x.width(), 1), "col");
            of_first(row) += h(r_first, row);
            first = of_first(row);
        }
        const Expr from_first = h(r, row) - first;
        sum(row) += from_first;
        const Expr shift = sum(row) / n;
        mean(row) = first + shift;
        if (statistics == Statistics::kTwoPass) {
            const Expr d = h(r, row) - mean(row);
            sum_sq(row) += d * d;
            inv_std(row) = 1.0f / sqrt(sum_sq(row) / n + eps);
        } else {
            sum_sq(row) += from_first * from_first;
            const Expr var = sum_sq(row) / n - shift * shift;
            // Rounding may leave it below 0 by as much as it is off anyway. Not max(var, 0): the NaN of a row
            // with an infinity has to stay one. Not a strict_float: one in the pipeline, and LLVM keeps
            // the sums' order everywhere, so that they are added across the lanes in each step, which is far slower.
            inv_std(row) = 1.0f / sqrt(abs(var) + eps);
        }
        const auto normed = [&](const Expr &at) {
            return (h(at, row) - mean(row)) * inv_std(row) * load_f32(weight(at)) + load_f32(bias(at));
        };
        y(col, row) = own_scale ? own_scale(normed, 1.0f, col, row, x.width(), y, get_target()) : stored(normed(col), get_target());
    }

private:
    Var col{"col"}, row{"row"};
    Func added{"added"}, h{"h"}, sum{"sum"}, mean{"mean"}, sum_sq{"sum_sq"}, inv_std{"inv_std"}, of_first{"first"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(LayerNorm, layer_norm)
