// Softmax over the columns of each row, with scale, additive mask and causal limit fused:
// y = softmax(scale * x + mask). A row in which everything is masked (-infinity) gives zeros.

#include <Halide.h>

#include "math/compare.h"
#include "math/elements.h"
#include "math/exp.h"

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

    Input<Buffer<void, 2>> x{"x"};  // [cols, rows]
    Input<Buffer<>> *mask = nullptr;  // [cols, rows], added after scaling
    Input<float> *scale = nullptr;
    Output<Buffer<void, 2>> y{"y"};  // [cols, rows]

    void configure() {
        x.set_type(storage_type(type));
        y.set_type(type);
        if (masked) {
            mask = add_input<Buffer<>>("mask", type, 2);
        }
        if (scaled) {
            scale = add_input<float>("scale");
        }
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
        weight(col, row) = exp_f32(logits(col, row) - top);
        row_sum(row) += weight(r, row);
        inv_sum(row) = select(is_zero_f32(row_sum(row)), 0.0f, 1.0f / row_sum(row));
        y(col, row) = store_as(type, weight(col, row) * inv_sum(row));
    }

private:
    Var col{"col"}, row{"row"};
    Func logits{"logits"}, row_max{"row_max"}, weight{"weight"}, row_sum{"row_sum"}, inv_sum{"inv_sum"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Softmax, softmax)
