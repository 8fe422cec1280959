// The router of a mixture of experts: for each token the top_k experts of largest logit, the largest
// first (of equal ones the lower expert), and their weights. Logits are given, or x w.

#include <limits>
#include <string>
#include <vector>

#include <Halide.h>

#include "math/elements.h"
#include "math/exp.h"
#include "math/number.h"
#include "math/order.h"
#include "math/linear.h"
#include "math/open_number.h"
#include "math/unread.h"

namespace {

using namespace Halide;
using namespace halyard;

/** given: logits [experts, tokens]. Otherwise they are x w, with w as WeightLayout has it. */
enum class Logits { kGiven, kNK, kPacked };

/** list: an expert after the other is put into a sorted list, for threads that have a token each. maxima: the largest of all
 * experts, then the largest below it and so on, for threads that share a token. open: lists where the schedule's parameter
 * `lanes`, the threads of a token, is 1, else maxima. */
enum class Search { kList, kMaxima, kOpen };

// They are rounded up to panels, in 32 bits.
constexpr int kMostExperts = std::numeric_limits<int32_t>::max() - 1024;

class MoeRouter : public Generator<MoeRouter> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // of logits, x and w: float32, float16 or bfloat16
    GeneratorParam<Logits> weights{
        "weights", Logits::kPacked, {{"given", Logits::kGiven}, {"nk", Logits::kNK}, {"packed", Logits::kPacked}}};
    Number panel{"panel", 32, 1, 1024};
    Number top_k{"top_k", 2, 1, 64};
    GeneratorParam<Search> search{"search", Search::kList, {{"list", Search::kList}, {"maxima", Search::kMaxima}, {"open", Search::kOpen}}};
    /** true: softmax over all experts, of which the chosen keep their share. false: over the chosen. */
    GeneratorParam<bool> softmax_first{"softmax_first", true};
    /** The weights of the chosen are scaled to a sum of 1. After a softmax over all experts that is the
     * softmax over the chosen, and computed as such. */
    GeneratorParam<bool> renormalise{"renormalise", true};

    Input<Buffer<>> *logits_in = nullptr;  // logits [experts, m]
    Input<Buffer<>> *x = nullptr;          // [k, m]
    Linear w;
    Input<int32_t> experts{"experts"};
    Output<Buffer<float, 2>> scores{"scores"};      // [top_k, m]; 0 where there are fewer experts
    Output<Buffer<int32_t, 2>> indices{"indices"};  // [top_k, m]; -1 there

    void configure() {
        storage_type(type);
        if (weights == Logits::kGiven) {
            logits_in = add_input<Buffer<>>("logits", type, 2);
            return;
        }
        x = add_input<Buffer<>>("x", type, 2);
        const WeightLayout layout = weights == Logits::kNK ? WeightLayout::kNK : WeightLayout::kPacked;
        w.add_to(*this, "w", layout, panel, type, get_target());
    }

    void generate() {
        const Expr count = experts;
        add_requirement(experts >= 0 && experts <= kMostExperts, "experts is", experts, "but must be from 0 to", kMostExperts);
        read_only_if(*this, count > 0, {"logits", "w_nk", "w_packed"});
        if (weights == Logits::kGiven) {
            order(e, row) = order_key(load_f32((*logits_in)(e, row_at(*logits_in, row, get_target()))));
        } else {
            x_f(k, row) = load_f32((*x)(k, row_at(*x, row, get_target())));
            w.multiply(acc(e, row), x->dim(0).extent(), e, count, [&](const Expr &d) { return x_f(d, row); });
            order(e, row) = order_key(acc(e, row));
        }

        const int best = top_k;
        if (search != Search::kMaxima) {
            search_list();
        }
        if (search != Search::kList) {
            search_maxima();
        }

        // Relative to the largest, which is finite unless all is lost.
        const Expr largest = clamp(rank_value(ranked(0)), std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max());
        weight(i, row) = exp_f32(rank_value(ranked(i)) - largest, get_target());
        if (softmax_first && !renormalise) {
            RDom all(0, count, "e");
            Func &terms = search == Search::kList ? sum : sum_of_all;
            terms(row) += exp_f32(from_order_key(order(all, row)) - largest, get_target());
            if (search != Search::kList) {
                sum(row) = sum_of_all(row);
            }
        } else {
            RDom ri(0, best, "i");
            sum(row) += weight(ri, row);
        }
        // Shares of nothing, of infinity and of NaN are NaN, also the whole, which LLVM would take for 1.
        const Expr first = rank_order(ranked(0)), is_finite = first > -0x7f800000 && first < 0x7f800000;
        const Expr share = select(is_finite, weight(i, row) / sum(row), reinterpret<float>(Expr(0x7fc00000)));
        chosen(i, row) = Tuple(select(is_none(i), 0.0f, share), rank_index(ranked(i)));
        scores(i, row) = chosen(i, row)[0];
        indices(i, row) = chosen(i, row)[1];
        scores.dim(0).set_bounds(0, best);
        indices.dim(0).set_bounds(0, best);
        indices.dim(1).set_bounds(scores.dim(1).min(), scores.dim(1).extent());
    }

private:
    void search_list() {
        const int best = top_k;
        top(i, row) = no_rank();
        RDom r({{0, best}, {0, Expr(experts)}}, "r");
        const Expr place = best - 1 - r.x, key = rank_key(order(r.y, row), r.y);
        r.where(key > top(best - 1, row));  // otherwise it has no place
        top(place, row) = ranked_in(place, key, top(place, row), top(max(place - 1, 0), row));
    }

    void search_maxima() {
        RDom r(0, Expr(experts), "e");
        const Expr key = rank_key(order(r, row), r);
        std::vector<Expr> found;
        for (int n = 0; n < top_k; n++) {
            Func largest("largest_" + std::to_string(n));
            largest(row) = no_rank();
            largest(row) = max(largest(row), n == 0 ? key : select(key < found.back(), key, no_rank()));
            found.push_back(largest(row));
        }
        Expr of_place = found.back();
        for (int n = int(top_k) - 1; n-- > 0;) {
            of_place = select(i == n, found[size_t(n)], of_place);
        }
        place_of_maxima(i, row) = of_place;
    }

    // What has this place.
    Expr ranked(const Expr &place) {
        switch (search) {
        case Search::kList: return top(place, row);
        case Search::kMaxima: return place_of_maxima(place, row);
        default: return select(number_or_open(kOpen, "lanes", 1, 32) == 1, top(place, row), place_of_maxima(place, row));
        }
    }

    Expr is_none(const Expr &place) {
        return ranked(place) == no_rank();
    }

    Var e{"e"}, i{"i"}, row{"row"}, k{"k"};
    Func x_f{"x_f"}, acc{"acc"}, order{"order"}, top{"top"}, place_of_maxima{"place_of_maxima"}, weight{"weight"};
    Func sum{"sum"}, sum_of_all{"sum_of_all"}, chosen{"chosen"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(MoeRouter, moe_router)
