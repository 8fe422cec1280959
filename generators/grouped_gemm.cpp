// Products of the experts of a mixture, each with its own rows: y = f(x w[e]) for rows offsets[e] to offsets[e + 1].
// gated: f has two products of the same row, activation(x w_gate[e]) * (x w_up[e]).
// gather: the rows of x are taken by an index, so that tokens need not be copied into the order of their experts.
// combine: y is a row for each token, the sum of those of its slots by their weights.
//
// Rows go by in slots: a slot is up to `tile` rows of one expert. On the host expert e begins at slot offsets[e] / tile + e, which leaves
// room for its last, partial tile whatever the counts are: there are rows / tile + experts slots, some without rows, and no sums over
// experts are needed to find them. On a GPU slots without rows would be blocks, so that they are counted: all of them come last, and there
// are no more than rows / tile + min(experts, rows) slots. An expert without rows is not read.

#include <string>
#include <vector>

#include <Halide.h>

#include "math/activation.h"
#include "math/elements.h"
#include "math/expert_weights.h"
#include "math/number.h"
#include "math/open_number.h"
#include "math/own_rounding.h"
#include "math/search.h"
#include "math/unread.h"

namespace {

using namespace Halide;
using namespace halyard;

constexpr int kExpertBits = 16;

class GroupedGemm : public Generator<GroupedGemm> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    GeneratorParam<WeightLayout> weights{"weights", WeightLayout::kPacked, linear_layouts()};
    Number panel{"panel", 64, 1, 1024};
    Number tile{"tile", 6, kOpen, 256};        // rows of a slot; -1: `rows` of the schedule
    GeneratorParam<bool> ones{"ones", false};  // a slot of one row has sums of one row
    GeneratorParam<bool> gated{"gated", false};
    GeneratorParam<bool> gather{"gather", false};
    GeneratorParam<bool> combine{"combine", false};
    GeneratorParam<bool> add_bias{"add_bias", false};
    GeneratorParam<Activation> activation{"activation", Activation::kNone, activations()};  // of the product, or of gate

    Input<Buffer<void, 2>> x{"x"};                 // [k, rows], or [k, tokens] with gather
    Input<Buffer<>> *row_index = nullptr;          // [rows], of which row of x is which
    Input<Buffer<int32_t, 1>> offsets{"offsets"};  // [experts + 1], in ascending order
    ExpertWeights w, w_gate, w_up;
    Input<Buffer<>> *bias = nullptr, *bias_gate = nullptr, *bias_up = nullptr;  // [n, experts]
    Input<Buffer<>> *place = nullptr;   // [top_k, tokens]: the row of each slot of a token, or less than 0
    Input<Buffer<>> *scores = nullptr;  // [top_k, tokens]
    Output<Buffer<void, 2>> y{"y"};     // [n, rows], or [n, tokens] with combine

    void configure() {
        x.set_type(storage_type(type));
        y.set_type(type);
        if (gather) {
            row_index = add_input<Buffer<>>("row_index", Int(32), 1);
        }
        for (const Part &p : parts()) {
            p.w->add_to(*this, "w" + p.suffix, weights, panel, type, get_target());
            if (add_bias) {
                *p.bias = add_input<Buffer<>>("bias" + p.suffix, type, 2);
            }
        }
        if (combine) {
            place = add_input<Buffer<>>("place", Int(32), 2);
            scores = add_input<Buffer<>>("scores", Float(32), 2);
        }
    }

    void generate() {
        rows_of_slot = number_or_open(tile, "rows", 1, 256);
        experts = max(offsets.dim(0).extent() - 1, 0);
        rows = gather ? row_index->dim(0).extent() : x.dim(1).extent();
        add_requirement(experts < (1 << kExpertBits), "offsets has", experts, "experts, but may have", (1 << kExpertBits) - 1);
        offsets.dim(0).set_min(0);
        x.dim(1).set_min(0);
        std::vector<std::string> unread = {"x", "row_index", "place", "scores"};
        for (const Part &p : parts()) {
            unread.push_back(weights_name("w" + p.suffix, weights));
            unread.push_back("bias" + p.suffix);
        }
        read_only_if(*this, experts > 0 && rows > 0 && x.dim(1).extent() > 0, unread, Granted::kNo);
        define_slots();

        const Expr last = max(rows - 1, 0);
        if (get_target().has_gpu_feature() && !gather) {
            // Rows behind those of the slot are read, and not stored: a tile of x is a box.
            x_f(k, i, t) = load_f32(x(k, min(clamp(slot(t)[1], 0, last) + i, last)));
        } else {
            source(i, t) = row_of_x(clamp(slot(t)[1] + min(i, slot(t)[2] - 1), 0, last));
            const Expr v = load_f32(x(k, clamp(source(i, t), 0, max(x.dim(1).extent() - 1, 0))));
            x_f(k, i, t) = get_target().has_gpu_feature() ? select(i < slot(t)[2], v, 0.0f) : v;
        }
        const Expr expert = clamp(slot(t)[0], 0, max(experts - 1, 0));
        const Expr count = slot(t)[2];
        for (const Part &p : parts()) {
            const auto multiply = [&](Func &sum, const Expr &some) {
                p.w->multiply(sum(col, i, t), x.width(), col, t, y.dim(0).max() + 1, expert, experts, some,
                              [&](const Expr &d) { return x_f(d, i, t); });
            };
            multiply(*p.sum, ones ? count > 1 : count > 0);
            if (ones) {
                multiply(*p.sum_of_one, count == 1);
            }
            if (*p.bias) {
                (*p.bias)->dim(0).set_bounds(0, y.dim(0).max() + 1);
                (*p.bias)->dim(1).set_bounds(0, experts);
            }
        }
        const auto linear = [&](const Part &p) {
            const Expr v = ones ? select(count == 1, (*p.sum_of_one)(col, 0, t), (*p.sum)(col, i, t)) : (*p.sum)(col, i, t);
            return *p.bias ? own_sum(v, load_f32((**p.bias)(min(likely(col), y.dim(0).max()), expert)), get_target()) : v;
        };
        activated(col, i, t) = activate(activation, linear(parts()[0]), get_target(), type);
        z(col, i, t) = gated ? own_product(activated(col, i, t), linear(parts()[1]), get_target()) : activated(col, i, t);
        if (combine) {
            define_sums();
            return;
        }
        y.dim(1).set_bounds(0, rows);
        define_rows(y, [&](const Expr &row) { return clamp(row, y.dim(1).min(), y.dim(1).max()); });
    }

private:
    struct Part {
        std::string suffix;
        ExpertWeights *w;
        Input<Buffer<>> **bias;
        Func *sum, *sum_of_one;
    };

    std::vector<Part> parts() {
        if (!gated) {
            return {{"", &w, &bias, &acc, &acc_one}};
        }
        return {{"_gate", &w_gate, &bias_gate, &gate, &gate_one}, {"_up", &w_up, &bias_up, &up, &up_one}};
    }

    /** The first row of expert e, whatever is in offsets. */
    Expr offset(const Expr &e) {
        return clamp(offsets(clamp(e, 0, experts)), 0, rows);
    }
    Expr first_slot(const Expr &e) {
        return get_target().has_gpu_feature() ? Expr(slots_before(clamp(e, 0, experts))) : offset(e) / rows_of_slot + e;
    }

    void define_slots() {
        const bool gpu = get_target().has_gpu_feature();
        if (gpu) {
            RDom before(0, experts, "before");
            before.where(before < e);
            slots_before(e) += (max(offset(before + 1) - offset(before), 0) + (rows_of_slot - 1)) / rows_of_slot;
        }
        find_last(slot_expert, t, kExpertBits, experts, [&](const Expr &e) { return first_slot(e) <= t; });
        const Expr of = slot_expert(t), first = offset(of) + (t - first_slot(of)) * rows_of_slot;
        slot(t) = Tuple(of, first, clamp(offset(of + 1) - first, 0, gpu ? rows_of_slot : select(experts > 0, rows_of_slot, 0)));
        if (!gpu) {
            // Not inlined where no schedule says otherwise: Halide 21 trims loops over slots by a Func that is computed inside of them.
            slot.compute_root();
        }
        slots = select(experts > 0, rows / rows_of_slot + (gpu ? min(experts, rows) : experts), 0);
    }

    Expr row_of_x(const Expr &row) {
        return gather ? (*row_index)(row) : row;
    }

    /** A row for each that an expert has, and 0 for the others. `to`: keeps rows inside of what is stored. */
    template<typename Inside>
    void define_rows(Func out, const Inside &to) {
        const Expr begin = offset(0), end = select(experts > 0, offset(experts), 0);
        out(col, row) = undef(type);
        RDom r({{0, rows_of_slot}, {0, slots}}, "r");
        r.where(slot(r.y)[2] > 0);
        r.where(r.x < slot(r.y)[2]);
        out(col, to(slot(r.y)[1] + r.x)) = store_as(type, z(col, r.x, r.y));
        RDom left(0, rows, "left");
        left.where(left < begin || left >= end);
        out(col, to(left)) = store_as(type, 0.0f);
        // No two slots have a row in common, as offsets are in ascending order.
        for (int update : {0, 1}) {
            out.update(update).allow_race_conditions();
        }
    }

    /** A row of y for each token. On the host an expert's rows are added where their tokens are, in the order of the experts; on a
     * GPU a token fetches the rows of its slots, rounded to the type, in the order of these. */
    void define_sums() {
        const Expr top_k = place->dim(0).extent(), tokens = place->dim(1).extent();
        y.dim(1).set_bounds(0, tokens);
        scores->dim(0).set_bounds(0, top_k);
        scores->dim(1).set_bounds(0, tokens);
        place->dim(0).set_min(0);
        place->dim(1).set_min(0);
        if (get_target().has_gpu_feature()) {
            define_rows(product_rows, [&](const Expr &row) { return clamp(row, 0, max(rows - 1, 0)); });
            RDom s(0, top_k, "s");
            const Expr here = min(token, tokens - 1);  // a schedule may round tokens up
            const Expr given = (*place)(s, here);
            s.where(given >= 0 && given < rows);
            sum(col, token) += (*scores)(s, here) * load_f32(product_rows(col, clamp(given, 0, max(rows - 1, 0))));
            y(col, token) = store_as(type, sum(col, token));
            return;
        }
        pair(row) = -1;
        pair.compute_root();  // as slot
        RDom s({{0, top_k}, {0, tokens}}, "s");
        const Expr to = (*place)(s.x, s.y);
        s.where(to >= 0 && to < rows);
        pair(clamp(to, 0, max(rows - 1, 0))) = s.y * top_k + s.x;

        RDom r({{0, rows_of_slot}, {0, slots}}, "r");
        const Expr of_row = pair(clamp(slot(r.y)[1] + r.x, 0, max(rows - 1, 0)));
        r.where(slot(r.y)[2] > 0);
        r.where(r.x < slot(r.y)[2] && of_row >= 0);
        const Expr at = clamp(of_row, 0, max(top_k * tokens - 1, 0)), to_token = clamp(at / max(top_k, 1), 0, max(tokens - 1, 0));
        sum(col, to_token) += (*scores)(clamp(at % max(top_k, 1), 0, max(top_k - 1, 0)), to_token) * z(col, r.x, r.y);
        y(col, token) = store_as(type, sum(col, token));
    }

    Var col{"col"}, row{"row"}, i{"i"}, t{"t"}, k{"k"}, e{"e"}, token{"row"};
    Expr rows_of_slot, experts, rows, slots;
    Func slots_before{"slots_before"}, slot_expert{"slot_expert"}, slot{"slot"}, source{"source"}, x_f{"x_f"}, product_rows{"product_rows"};
    Func acc{"acc"}, gate{"gate"}, up{"up"}, acc_one{"acc_one"}, gate_one{"gate_one"}, up_one{"up_one"};
    Func activated{"activated"}, z{"z"}, pair{"pair"}, sum{"sum"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(GroupedGemm, grouped_gemm)
