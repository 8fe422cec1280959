// LayerNorm: y = (x - mean) / sqrt(var + eps) * weight + bias, over the columns of each row.
// Ba, Kiros and Hinton, Layer Normalization, 2016.

#include <Halide.h>

#include "math/elements.h"

namespace {

using namespace Halide;
using namespace halyard;

enum class Statistics { kTwoPass, kOnePass };

class LayerNorm : public Generator<LayerNorm> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    /** two_pass: the mean, then the squares of the distances from it. one_pass: sum and sum of
     * squares together, of the distances from the row's first element, so that a mean far from
     * zero cancels nothing. */
    GeneratorParam<Statistics> statistics{
        "statistics", Statistics::kTwoPass, {{"two_pass", Statistics::kTwoPass}, {"one_pass", Statistics::kOnePass}}};

    Input<Buffer<void, 2>> x{"x"};            // [cols, rows]
    Input<Buffer<void, 1>> weight{"weight"};  // [cols]
    Input<Buffer<void, 1>> bias{"bias"};      // [cols]
    Input<float> eps{"eps"};
    Output<Buffer<void, 2>> y{"y"};  // [cols, rows]

    void configure() {
        x.set_type(storage_type(type));
        weight.set_type(type);
        bias.set_type(type);
        y.set_type(type);
    }

    void generate() {
        const Expr n = cast<float>(x.width());
        RDom r(0, x.width(), "col");
        if (statistics == Statistics::kTwoPass) {
            sum(row) += load_f32(x(r, row));
            mean(row) = sum(row) / n;
            const Expr d = load_f32(x(r, row)) - mean(row);
            sum_sq(row) += d * d;
            inv_std(row) = 1.0f / sqrt(sum_sq(row) / n + eps);
        } else {
            const Expr d = load_f32(x(r, row)) - load_f32(x(0, row));
            sum(row) += d;
            sum_sq(row) += d * d;
            const Expr shift = sum(row) / n;
            mean(row) = load_f32(x(0, row)) + shift;
            const Expr var = sum_sq(row) / n - shift * shift;
            // Rounding may leave it below 0 by as much as it is off anyway. Not max(var, 0): the NaN of a row
            // with an infinity has to stay one. Not a strict_float: one in the pipeline, and LLVM keeps
            // the sums' order everywhere, so that they are added across the lanes in each step (153 us
            // against 67, 1024 x 384, Zen 4).
            inv_std(row) = 1.0f / sqrt(abs(var) + eps);
        }
        y(col, row) = store_as(type, (load_f32(x(col, row)) - mean(row)) * inv_std(row) * load_f32(weight(col)) +
                                         load_f32(bias(col)));
    }

private:
    Var col{"col"}, row{"row"};
    Func sum{"sum"}, mean{"mean"}, sum_sq{"sum_sq"}, inv_std{"inv_std"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(LayerNorm, layer_norm)
