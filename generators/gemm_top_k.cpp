// The k largest elements of each row of x w + bias with their columns, the largest first, of equal ones
// the lower column. First the largest of each panel is found; the k-th largest of these is the floor: k columns are
// as large, so that what is below it need not be looked at. That leaves about k panels. Two ways, with the same result:
//
// chunks   Columns go by in chunks of panels, each with a floor of its own; a row's best are kept for a chunk, then merged.
// panels   The k best panels of a row are ranked, of equal ones the lower: one that is ranked before another has a column that
//          is before all of its. Only they are searched, each by itself, and their best are merged.
//
// With draw=true one of them is drawn for each row: token is what the op `sample` draws of the logits with the same parameters, if its
// top-k is row_top_k, from 1 to top_k, and with top-k top_k where row_top_k is not. The share of top-p is of what top-k leaves, as there, so
// that no logit beyond the largest counts.

#include <vector>

#include <Halide.h>

#include "math/draw.h"
#include "math/elements.h"
#include "math/number.h"
#include "math/order.h"
#include "math/panel_logits.h"

namespace {

using namespace Halide;
using namespace halyard;

enum class Search { kChunks, kPanels };

class GemmTopK : public Generator<GemmTopK> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16; values are float32
    GeneratorParam<WeightLayout> weights{"weights", WeightLayout::kPacked, layouts_with_blocks()};
    Number panel{"panel", 48, 1, 1024};
    BlockParams blocks;
    Number chunk{"chunk", 64, 1, 65536};  // panels
    GeneratorParam<bool> add_bias{"add_bias", false};
    Number top_k{"top_k", 8, 1, 64};
    GeneratorParam<Search> search{"search", Search::kChunks, {{"chunks", Search::kChunks}, {"panels", Search::kPanels}}};

    /** Adds token: one of the largest, drawn for each row. */
    GeneratorParam<bool> draw{"draw", false};
    GeneratorParam<bool> min_p_first{"min_p_first", true};             // as in sample
    GeneratorParam<bool> temperature_last{"temperature_last", false};  // as in sample

    Input<Buffer<void, 2>> x{"x"};  // [k, m]
    PanelLogits product;
    Output<Buffer<float, 2>> values{"values"};      // [top_k, m]; -infinity where there are fewer columns
    Output<Buffer<int32_t, 2>> indices{"indices"};  // [top_k, m]; -1 there
    // With draw: uniform, temperature, row_top_k, top_p, min_p and token, all [m], as in sample.

    void configure() {
        x.set_type(storage_type(type));
        product.add_to(*this, weights, panel, blocks, type, add_bias, get_target());
        if (draw) {
            tokens.add_to(*this);
        }
    }

    void generate() {
        need_rows(*this, get_target(), "x", x.dim(1), values.dim(1));
        product.define(x);
        const Var &j = product.j, &row = product.row, &p = product.p;
        const int best = top_k;

        kept(j, row, p) = select(product.exists(j, p), order_key(product.logits(j, row, p)), no_order());
        RDom rj(0, panel, "j");
        panel_best(row, p) = no_order();
        panel_best(row, p) = max(panel_best(row, p), kept(rj, row, p));
        if (search == Search::kPanels) {
            search_panels();
        } else {
            search_chunks();
        }

        values(i, row) = rank_value(top(i, row));
        indices(i, row) = rank_index(top(i, row));
        values.dim(0).set_bounds(0, best);
        indices.dim(0).set_bounds(0, best);
        indices.dim(1).set_bounds(values.dim(1).min(), values.dim(1).extent());
        if (tokens) {
            tokens.define(top, best, row, product.columns, min_p_first, temperature_last, get_target());
            tokens.bound_rows(values.dim(1).min(), values.dim(1).extent());
        }
    }

private:
    // list(i, of) keeps the largest of what r goes over, sorted; r.x goes over the places, from the last to the first.
    void keep_largest(Func &list, RDom &r, const Expr &key, std::vector<Expr> of) {
        const Expr place = top_k - 1 - r.x;
        const auto at = [&](const Expr &n) {
            std::vector<Expr> all = {n};
            all.insert(all.end(), of.begin(), of.end());
            return all;
        };
        r.where(key > list(at(top_k - 1)));
        list(at(place)) = ranked_in(place, key, list(at(place)), list(at(max(place - 1, 0))));
    }

    void search_chunks() {
        const Var &row = product.row;
        const int best = top_k;

        best_panels(i, row, c) = no_order();
        RDom b({{0, best}, {0, chunk}}, "b");
        b.where(c * chunk + b.y < product.panels);
        keep_largest(best_panels, b, panel_best(row, panel_at(b.y)), {row, c});
        floor(row, c) = best_panels(best - 1, row, c);

        chunk_top(i, row, c) = no_rank();
        RDom r({{0, best}, {0, panel}, {0, chunk}}, "r");
        const Expr at = panel_at(r.z);
        r.where(c * chunk + r.z < product.panels);
        r.where(panel_best(row, at) >= floor(row, c));
        r.where(kept(r.y, row, at) >= floor(row, c));
        keep_largest(chunk_top, r, rank_key(kept(r.y, row, at), product.column(r.y, at)), {row, c});
        listed(i, row, c) = chunk_top(i, row, c);
        merge(top, listed, chunks());
    }

    void search_panels() {
        const Var &row = product.row;
        const int best = top_k;

        best_panels(i, row, c) = no_rank();
        RDom b({{0, best}, {0, chunk}}, "b");
        const Expr p = panel_at(b.y);
        b.where(c * chunk + b.y < product.panels);
        keep_largest(best_panels, b, rank_key(panel_best(row, p), p), {row, c});
        merge_in_two(panels, parts_of_panels, best_panels, chunks());

        // A panel in pieces: list `n` is of piece n % pieces of the panel ranked n / pieces.
        const int pieces = (panel + kPiece - 1) / kPiece;
        ranked(n, row) = panels(n / pieces, row);
        least(row) = rank_order(panels(best - 1, row));
        const Expr at = clamp(rank_index(ranked(n, row)), 0, product.panels - 1);
        searched(product.j, row, n) = kept(product.j, row, at);
        panel_top(i, row, n) = no_rank();
        RDom r({{0, best}, {0, kPiece}}, "r");
        const Expr column = n % pieces * kPiece + r.y, inside = min(column, panel - 1);
        r.where(column < panel);
        r.where(ranked(n, row) != no_rank());
        r.where(searched(inside, row, n) >= least(row));
        keep_largest(panel_top, r, rank_key(searched(inside, row, n), product.column(inside, at)), {row, n});
        merge_in_two(top, parts_of_top, panel_top, best * pieces);
    }

    // The largest of several lists.
    void merge(Func &all, const Func &lists, const Expr &count) {
        const Var &row = product.row;
        all(i, row) = no_rank();
        RDom m({{0, top_k}, {0, top_k}, {0, count}}, "m");
        keep_largest(all, m, lists(m.y, row, m.z), {row});
    }

    // The same, first of each kTogether lists, so that a schedule can have a thread for each of these.
    void merge_in_two(Func &all, Func &parts, const Func &lists, const Expr &count) {
        const Var &row = product.row;
        parts(i, row, n) = no_rank();
        RDom m({{0, top_k}, {0, top_k}, {0, kTogether}}, "m");
        const Expr list = n * kTogether + m.z;
        m.where(list < count);
        keep_largest(parts, m, lists(m.y, row, min(list, count - 1)), {row, n});
        merge(all, parts, (count + (kTogether - 1)) / kTogether);
    }

    Expr chunks() const {
        return (product.panels + (chunk - 1)) / chunk;
    }
    // The last chunk may have fewer.
    Expr panel_at(const Expr &in_chunk) const {
        return min(c * chunk + in_chunk, product.panels - 1);
    }

    ListDraw tokens;
    static constexpr int kPiece = 16, kTogether = 8;

    Var i{"i"}, c{"c"}, n{"n"};
    Func kept{"kept"}, panel_best{"panel_best"}, best_panels{"best_panels"}, floor{"floor"}, chunk_top{"chunk_top"}, listed{"listed"},
        parts_of_panels{"parts_of_panels"}, panels{"panels"}, ranked{"ranked"}, least{"least"}, searched{"searched"},
        panel_top{"panel_top"}, parts_of_top{"parts_of_top"}, top{"top"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(GemmTopK, gemm_top_k)
