// Cross-entropy of a softmax: loss = log(sum over columns of e^logit) - logit[label], for each row.
// With label smoothing s, the target has 1 - s + s/cols at the label and s/cols elsewhere (Szegedy et al. 2016).
// A row whose label is ignore_index has loss 0; one whose label is no column, NaN.

#include <Halide.h>

#include "math/compare.h"
#include "math/elements.h"
#include "math/exp.h"

namespace {

using namespace Halide;
using namespace halyard;

class CrossEntropy : public Generator<CrossEntropy> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // of the logits: float32, float16 or bfloat16
    GeneratorParam<bool> smoothed{"smoothed", false};

    Input<Buffer<void, 2>> logits{"logits"};     // [cols, rows]
    Input<Buffer<int32_t, 1>> labels{"labels"};  // [rows]
    Input<int32_t> ignore_index{"ignore_index"};
    Input<float> *label_smoothing = nullptr;
    Output<Buffer<float, 1>> loss{"loss"};  // [rows]

    void configure() {
        logits.set_type(storage_type(type));
        if (smoothed) {
            label_smoothing = add_input<float>("label_smoothing");
        }
    }

    void generate() {
        const Expr cols = logits.width(), first = logits.dim(0).min();
        x(col, row) = load_f32(logits(col, row));
        RDom r(first, cols, "col");
        row_max(row) = Float(32).min();
        row_max(row) = max(row_max(row), x(r, row));
        const Expr top = select(is_minus_infinity_f32(row_max(row)), 0.0f, row_max(row));
        row_sum(row) += exp_f32(x(r, row) - top, get_target());
        // Halide's logarithm makes a number of NaN. Where all is -infinity, no column has a probability.
        log_sum(row) = select(is_zero_f32(row_sum(row)) || is_nan_f32(row_sum(row)), nan(), Halide::log(row_sum(row)));
        const Expr label = labels(row);
        // No distance is above 0; the min keeps fast-math from adding top to log_sum first, where the digits of
        // a small loss would be lost. A NaN that it drops is in the sum.
        const Expr at_label = min(x(first + clamp(label, 0, max(cols - 1, 0)), row) - top, 0.0f);
        Expr v = log_sum(row) - at_label;
        if (smoothed) {
            sum(row) += min(x(r, row) - top, 0.0f);
            v = log_sum(row) -
                (at_label * (1.0f - *label_smoothing) + sum(row) * (*label_smoothing / cast<float>(cols)));
        }
        loss(row) = select(label == ignore_index, 0.0f, label < 0 || label >= cols, nan(), v);
    }

private:
    static Expr nan() {
        return reinterpret<float>(Expr(0x7fc00000));
    }

    Var col{"col"}, row{"row"};
    Func x{"x"}, row_max{"row_max"}, row_sum{"row_sum"}, log_sum{"log_sum"}, sum{"sum"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(CrossEntropy, cross_entropy)
