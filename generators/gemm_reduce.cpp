// Each row of the product x w + bias reduced to one number: its largest element, its sum, or the
// logarithm of the sum of its exponentials. Columns go by in panels, so the product need not exist.

#include <Halide.h>

#include "math/elements.h"
#include "math/logsumexp.h"
#include "math/number.h"
#include "math/order.h"
#include "math/panel_logits.h"

namespace {

using namespace Halide;
using namespace halyard;

enum class Reduction { kMax, kSum, kLogSumExp };

class GemmReduce : public Generator<GemmReduce> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16; y is float32
    GeneratorParam<WeightLayout> weights{"weights", WeightLayout::kPacked, layouts_with_blocks()};
    Number panel{"panel", 48, 1, 1024};
    BlockParams blocks;
    GeneratorParam<bool> add_bias{"add_bias", false};
    GeneratorParam<Reduction> reduction{
        "reduction", Reduction::kLogSumExp, {{"max", Reduction::kMax}, {"sum", Reduction::kSum}, {"logsumexp", Reduction::kLogSumExp}}};

    Input<Buffer<void, 2>> x{"x"};  // [k, m]
    PanelLogits product;
    Output<Buffer<float, 1>> y{"y"};  // [m]

    void configure() {
        x.set_type(storage_type(type));
        product.add_to(*this, weights, panel, blocks, type, add_bias, get_target());
    }

    void generate() {
        need_rows(*this, get_target(), "x", x.dim(1), y.dim(0));
        product.define(x);
        const Var &row = product.row, &p = product.p;
        RDom rj(0, panel, "j"), rp(0, product.panels, "p");
        const Expr logit = product.logits(rj, row, p), exists = product.exists(rj, p);
        switch (reduction) {
        case Reduction::kMax:
            // As integers in the order of the numbers: a NaN is the largest, in SIMD lanes too.
            panel_max(p, row) = lowest_order();
            panel_max(p, row) = max(panel_max(p, row), select(exists, order_key(logit), lowest_order()));
            part(p, row) = panel_max(p, row);
            row_max(row) = lowest_order();
            row_max(row) = max(row_max(row), part(rp, row));
            y(row) = from_order_key(row_max(row));
            break;
        case Reduction::kSum:
            panel_sum(p, row) += select(exists, logit, 0.0f);
            part(p, row) = panel_sum(p, row);
            row_sum(row) += part(rp, row);
            y(row) = row_sum(row);
            break;
        default: {
            const Expr seen = select(exists, logit, Float(32).min());
            panel_max(p, row) = least_largest();
            panel_max(p, row) = max(panel_max(p, row), seen);
            const Expr top = finite_largest(panel_max(p, row));
            panel_sum(p, row) += exp_f32(seen - top, get_target());
            part(p, row) = Tuple(top, panel_sum(p, row));
            row_max(row) = least_largest();
            row_max(row) = max(row_max(row), part(rp, row)[0]);
            row_sum(row) += rescaled(part(rp, row)[1], part(rp, row)[0], row_max(row), get_target());
            y(row) = logsumexp(row_max(row), row_sum(row));
        }
        }
    }

private:
    Func panel_max{"panel_max"}, panel_sum{"panel_sum"}, part{"part"}, row_max{"row_max"}, row_sum{"row_sum"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(GemmReduce, gemm_reduce)
