// Cross-entropy of the logits x w + bias against a label for each row: loss = logsumexp(logits) -
// logits[label], and the logsumexp, which a backward pass needs. Columns (the vocabulary) go by in
// panels, so that the logits, by far the largest thing here, need not exist.

#include <Halide.h>

#include "math/elements.h"
#include "math/logsumexp.h"
#include "math/number.h"
#include "math/panel_logits.h"

namespace {

using namespace Halide;
using namespace halyard;

class LinearCrossEntropy : public Generator<LinearCrossEntropy> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16; results are float32
    GeneratorParam<WeightLayout> weights{"weights", WeightLayout::kPacked, layouts_with_blocks()};
    Number panel{"panel", 48, 1, 1024};
    BlockParams blocks;
    GeneratorParam<bool> add_bias{"add_bias", false};

    Input<Buffer<void, 2>> x{"x"};               // [k, m]
    Input<Buffer<int32_t, 1>> labels{"labels"};  // [m]
    PanelLogits product;
    Input<int32_t> ignore_index{"ignore_index"};  // rows of this label have a loss of 0
    Output<Buffer<float, 1>> loss{"loss"};        // [m]; NaN for a label that is no column
    Output<Buffer<float, 1>> lse{"lse"};          // [m]

    void configure() {
        x.set_type(storage_type(type));
        product.add_to(*this, weights, panel, blocks, type, add_bias, get_target());
    }

    void generate() {
        add_requirement(product.columns_given() > 0 || loss.dim(0).extent() == 0, "linear_cross_entropy: there are",
                        product.columns_given(), "columns; a row has its loss at one of them");
        need_rows(*this, get_target(), "x", x.dim(1), loss.dim(0));
        need_rows(*this, get_target(), "labels", labels.dim(0), loss.dim(0));
        product.define(x);
        const Var &row = product.row, &p = product.p;
        RDom rj(0, panel, "j"), rp(0, product.panels, "p");
        const Expr seen = select(product.exists(rj, p), product.logits(rj, row, p), Float(32).min());
        panel_max(p, row) = least_largest();
        panel_max(p, row) = max(panel_max(p, row), seen);
        const Expr top = finite_largest(panel_max(p, row));
        panel_sum(p, row) += exp_f32(seen - top, get_target());
        const bool on_gpu = get_target().has_gpu_feature();  // where a schedule may round rows up
        const Expr labelled_row = on_gpu ? min(row, labels.dim(0).max()) : row;
        const Expr place = labels(labelled_row) - p * panel;  // of the label's column in the panel
        if (on_gpu) {
            // A sum, as a thread has no index into the registers of others.
            panel_label(p, row) += select(rj == place, product.logits(rj, row, p), 0.0f);
            part(p, row) = Tuple(top, panel_sum(p, row), panel_label(p, row));
        } else {
            const Expr labelled = product.logits(clamp(place, 0, panel - 1), row, p);
            part(p, row) = Tuple(top, panel_sum(p, row), select(place >= 0 && place < panel, labelled, 0.0f));
        }

        row_max(row) = least_largest();
        row_max(row) = max(row_max(row), part(rp, row)[0]);
        row_sum(row) += rescaled(part(rp, row)[1], part(rp, row)[0], row_max(row), get_target());
        label_logit(row) += part(rp, row)[2];
        row_lse(row) = Tuple(row_max(row), log_f32(row_sum(row)));  // the parts of a sum
        lse(row) = row_lse(row)[0] + row_lse(row)[1];
        const Expr label = labels(labelled_row);
        const Expr nan = reinterpret<float>(Expr(0x7fc00000));
        loss(row) = select(label == ignore_index, 0.0f, label >= 0 && label < product.columns,
                           logsumexp_minus(label_logit(row), row_lse(labelled_row)[0], row_lse(labelled_row)[1]), nan);
        lse.dim(0).set_bounds(loss.dim(0).min(), loss.dim(0).extent());
    }

private:
    Func panel_max{"panel_max"}, panel_sum{"panel_sum"}, panel_label{"panel_label"}, part{"part"};
    Func row_max{"row_max"}, row_sum{"row_sum"}, label_logit{"label_logit"}, row_lse{"row_lse"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(LinearCrossEntropy, linear_cross_entropy)
