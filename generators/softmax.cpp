// Softmax over the columns of each row, with scale, additive mask and causal limit fused:
// y = softmax(scale * x + mask), or its logarithm. A row in which everything is masked (-infinity) gives
// zeros, or -infinity.

#include <Halide.h>

#include "math/compare.h"
#include "math/elements.h"
#include "math/exp.h"
#include "math/quantize.h"

namespace {

using namespace Halide;
using namespace halyard;

class Softmax : public Generator<Softmax> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    GeneratorParam<bool> scaled{"scaled", false};
    GeneratorParam<bool> masked{"masked", false};
    /** Column c of row r counts where c <= r + (cols - rows): the last row sees every column. */
    GeneratorParam<bool> causal{"causal", false};
    GeneratorParam<bool> log{"log", false};
    GeneratorParam<OutputType> output{"output", OutputType::kSame, output_types()};

    Input<Buffer<void, 2>> x{"x"};    // [cols, rows]
    Input<Buffer<>> *mask = nullptr;  // [cols, rows], added after scaling
    Input<float> *scale = nullptr;
    Stored stored;
    Output<Buffer<void, 2>> y{"y"};  // [cols, rows]

    void configure() {
        x.set_type(storage_type(type));
        y.set_type(stored_type(output, type));
        if (masked) {
            mask = add_input<Buffer<>>("mask", type, 2);
        }
        if (scaled) {
            scale = add_input<float>("scale");
        }
        stored.add_to(*this, "y", output, type);
    }

    void generate() {
        const Expr ninf = Float(32).min();
        Expr v = load_f32(x(col, row));
        if (scaled) {
            v = v * *scale;
        }
        if (masked) {
            v = v + load_f32((*mask)(col, row));
        }
        if (causal) {
            v = select(col <= row - x.dim(1).min() + (x.width() - x.height()), v, ninf);
        }
        logits(col, row) = v;

        RDom r(0, x.width(), "col");
        row_max(row) = ninf;
        row_max(row) = max(row_max(row), logits(r, row));
        // exp(-inf - -inf) would be NaN: where all is masked, subtract 0.
        const Expr top = select(is_minus_infinity_f32(row_max(row)), 0.0f, row_max(row));
        const Expr below_top = logits(col, row) - top;
        weight(col, row) = exp_nonpositive_f32(below_top, get_target());
        row_sum(row) += weight(r, row);
        Expr result;
        if (log) {
            // Halide's logarithm makes a number of NaN.
            log_sum(row) = select(is_zero_f32(row_sum(row)), 0.0f, is_nan_f32(row_sum(row)), row_sum(row), Halide::log(row_sum(row)));
            // It is not above 0: the min keeps fast-math from adding top and log_sum first, where the digits
            // of log_sum would be lost. A NaN that it drops is in the sum.
            result = min(below_top, 0.0f) - log_sum(row);
        } else {
            inv_sum(row) = select(is_zero_f32(row_sum(row)), 0.0f, 1.0f / row_sum(row));
            result = weight(col, row) * inv_sum(row);
        }
        y(col, row) = stored(result, get_target());
    }

private:
    Var col{"col"}, row{"row"};
    Func logits{"logits"}, row_max{"row_max"}, weight{"weight"}, row_sum{"row_sum"}, inv_sum{"inv_sum"}, log_sum{"log_sum"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Softmax, softmax)
