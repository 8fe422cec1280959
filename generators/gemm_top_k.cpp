// The k largest elements of each row of x w + bias with their columns, the largest first, of equal ones
// the lower column. Columns go by in chunks of panels: a row's best are kept for a chunk, then merged. Of
// a chunk first the largest of each panel is found, then the k-th largest of these, the floor: k columns are
// as large, so that what is below it need not be looked at. That leaves about k panels.

#include <Halide.h>

#include "math/elements.h"
#include "math/order.h"
#include "math/panel_logits.h"

namespace {

using namespace Halide;
using namespace halyard;

class GemmTopK : public Generator<GemmTopK> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16; values are float32
    GeneratorParam<WeightLayout> weights{"weights", WeightLayout::kPacked, linear_layouts()};
    GeneratorParam<int> panel{"panel", 48};
    GeneratorParam<int> chunk{"chunk", 64};  // panels
    GeneratorParam<bool> add_bias{"add_bias", false};
    GeneratorParam<int> top_k{"top_k", 8, 1, 64};

    Input<Buffer<void, 2>> x{"x"};  // [k, m]
    PanelLogits product;
    Output<Buffer<float, 2>> values{"values"};      // [top_k, m]; -infinity where there are fewer columns
    Output<Buffer<int32_t, 2>> indices{"indices"};  // [top_k, m]; -1 there

    void configure() {
        x.set_type(storage_type(type));
        product.add_to(*this, weights, panel, type, add_bias, get_target());
    }

    void generate() {
        product.define(x);
        const int best = top_k;
        const Var &j = product.j, &row = product.row, &p = product.p;
        const Expr chunks = (product.panels + (chunk - 1)) / chunk;

        kept(j, row, p) = select(product.exists(j, p), order_key(product.logits(j, row, p)), no_order());
        RDom rj(0, panel, "j");
        panel_best(row, p) = no_order();
        panel_best(row, p) = max(panel_best(row, p), kept(rj, row, p));

        // The last chunk may have fewer panels.
        const auto panel_at = [&](const Expr &n) { return min(c * chunk + n, product.panels - 1); };

        best_panels(i, row, c) = no_order();
        RDom b({{0, best}, {0, chunk}}, "b");
        const Expr largest = panel_best(row, panel_at(b.y)), panel_place = best - 1 - b.x;
        b.where(c * chunk + b.y < product.panels);
        b.where(largest > best_panels(best - 1, row, c));
        best_panels(panel_place, row, c) = ranked_in(panel_place, largest, best_panels(panel_place, row, c),
                                                     best_panels(max(panel_place - 1, 0), row, c));
        floor(row, c) = best_panels(best - 1, row, c);

        chunk_top(i, row, c) = no_rank();
        RDom r({{0, best}, {0, panel}, {0, chunk}}, "r");
        const Expr at = panel_at(r.z), place = best - 1 - r.x;
        const Expr key = rank_key(kept(r.y, row, at), product.column(r.y, at));
        r.where(c * chunk + r.z < product.panels);
        r.where(panel_best(row, at) >= floor(row, c));
        r.where(kept(r.y, row, at) >= floor(row, c));
        r.where(key > chunk_top(best - 1, row, c));
        chunk_top(place, row, c) =
            ranked_in(place, key, chunk_top(place, row, c), chunk_top(max(place - 1, 0), row, c));

        listed(i, row, c) = chunk_top(i, row, c);

        top(i, row) = no_rank();
        RDom m({{0, best}, {0, best}, {0, chunks}}, "m");
        const Expr merged_place = best - 1 - m.x;
        const Expr candidate = listed(m.y, row, m.z);
        m.where(candidate > top(best - 1, row));
        top(merged_place, row) =
            ranked_in(merged_place, candidate, top(merged_place, row), top(max(merged_place - 1, 0), row));

        values(i, row) = rank_value(top(i, row));
        indices(i, row) = rank_index(top(i, row));
        values.dim(0).set_bounds(0, best);
        indices.dim(0).set_bounds(0, best);
        indices.dim(1).set_bounds(values.dim(1).min(), values.dim(1).extent());
    }

private:
    Var i{"i"}, c{"c"};
    Func kept{"kept"}, panel_best{"panel_best"}, best_panels{"best_panels"}, floor{"floor"}, chunk_top{"chunk_top"},
        listed{"listed"}, top{"top"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(GemmTopK, gemm_top_k)
