// The router of a mixture of experts: for each token the top_k experts of largest logit, the largest
// first (of equal ones the lower expert), and their weights. Logits are given, or x w.
//
// scoring=sigmoid: the weights are sigmoids. bias_correction: experts are chosen by the sum of score and a bias, which the weights do not
// have. groups: only experts of the top_groups groups of neighbours of largest score are chosen. DeepSeek-AI, DeepSeek-V2 and V3, 2024.

#include <limits>
#include <string>
#include <vector>

#include <Halide.h>

#include "math/activation.h"
#include "math/compare.h"
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

enum class Scoring { kSoftmax, kSigmoid };

/** The score of a group: its largest, or the sum of its two largest. */
enum class GroupScore { kMax, kTopTwo };

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
    GeneratorParam<Scoring> scoring{"scoring", Scoring::kSoftmax, {{"softmax", Scoring::kSoftmax}, {"sigmoid", Scoring::kSigmoid}}};
    GeneratorParam<bool> bias_correction{"bias_correction", false};
    Number groups{"groups", 1, 1, 1024};          // of as many neighbouring experts each
    Number top_groups{"top_groups", 1, 1, 1024};  // of which experts are chosen
    GeneratorParam<GroupScore> group_score{
        "group_score", GroupScore::kTopTwo, {{"max", GroupScore::kMax}, {"top_two", GroupScore::kTopTwo}}};
    GeneratorParam<bool> scaled{"scaled", false};  // the weights are multiplied by a number

    Input<Buffer<>> *logits_in = nullptr;  // logits [experts, m]
    Input<Buffer<>> *x = nullptr;          // [k, m]
    Linear w;
    Input<Buffer<>> *bias = nullptr;  // [experts]
    Input<float> *scale = nullptr;
    Input<int32_t> experts{"experts"};
    Output<Buffer<float, 2>> scores{"scores"};      // [top_k, m]; 0 where there are fewer experts
    Output<Buffer<int32_t, 2>> indices{"indices"};  // [top_k, m]; -1 there

    void configure() {
        storage_type(type);
        if (int(top_groups) > int(groups)) {
            throw CompileError("top_groups=" + std::to_string(int(top_groups)) +
                               " are to be some of groups=" + std::to_string(int(groups)));
        }
        if (bias_correction) {
            bias = add_input<Buffer<>>("bias", Float(32), 1);
        }
        if (scaled) {
            scale = add_input<float>("scale");
        }
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
        if (chooses_by_score() || limits_groups()) {
            add_requirement(experts >= 1 && experts % int(groups) == 0, "experts is", experts,
                            "but there must be some, as many in each of the", int(groups), "groups");
        }
        read_only_if(*this, count > 0, {"logits", "w_nk", "w_packed", "bias"});
        if (weights == Logits::kGiven) {
            need_rows(*this, get_target(), "logits", logits_in->dim(1), scores.dim(1));
            order(e, row) = order_key(load_f32((*logits_in)(e, row_at(*logits_in, row, get_target()))));
        } else {
            need_rows(*this, get_target(), "x", x->dim(1), scores.dim(1));
            x_f(k, row) = load_f32((*x)(k, row_at(*x, row, get_target())));
            w.multiply(acc(e, row), x->dim(0).extent(), e, count, [&](const Expr &d) { return x_f(d, row); });
            order(e, row) = order_key(acc(e, row));
        }

        define_choice(count);
        const int best = top_k;
        if (search != Search::kMaxima) {
            search_list();
        }
        if (search != Search::kList) {
            search_maxima();
        }
        const Expr share = chooses_by_score() || limits_groups() ? share_of_score(count) : share_of_rank(count);
        chosen(i, row) = Tuple(select(is_none(i), 0.0f, share), rank_index(ranked(i)));
        scores(i, row) = chosen(i, row)[0];
        indices(i, row) = chosen(i, row)[1];
        scores.dim(0).set_bounds(0, best);
        indices.dim(0).set_bounds(0, best);
        indices.dim(1).set_bounds(scores.dim(1).min(), scores.dim(1).extent());
    }

private:
    /** Of a number: LLVM takes a NaN times something for anything. */
    Expr times_scale(const Expr &share) {
        return scale ? share * *scale : share;
    }

    /** The weight of what has place i, where the keys of the ranking are those of logits: softmax. */
    Expr share_of_rank(const Expr &count) {
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
            RDom ri(0, Expr(top_k), "i");
            sum(row) += weight(ri, row);
        }
        // Shares of nothing, of infinity and of NaN are NaN, also the whole, which LLVM would take for 1.
        const Expr first = rank_order(ranked(0)), is_finite = first > -0x7f800000 && first < 0x7f800000;
        return select(is_finite, times_scale(weight(i, row) / sum(row)), reinterpret<float>(Expr(0x7fc00000)));
    }

    /** Whether the keys of the ranking are not those of logits. */
    bool chooses_by_score() const {
        return scoring == Scoring::kSigmoid || bias_correction;
    }
    bool limits_groups() const {
        return int(top_groups) < int(groups);
    }

    /** The score of a logit, where those of softmax are relative to `largest`, and not divided by their sum. */
    Expr score(const Expr &logit) {
        return scoring == Scoring::kSigmoid ? sigmoid(logit, get_target()) : exp_f32(logit - largest(row), get_target());
    }

    /** choice: the keys by which experts are chosen, where those of logits do not do. A NaN among logits and biases is the largest. */
    void define_choice(const Expr &count) {
        const bool softmax_of_all = scoring == Scoring::kSoftmax && (chooses_by_score() || limits_groups());
        if (softmax_of_all) {
            RDom all(0, count, "e");
            row_max(row) = no_order();
            row_max(row) = max(row_max(row), order(all, row));
            largest(row) = clamp(from_order_key(row_max(row)), std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max());
            sum_of_all(row) += exp_f32(from_order_key(order(all, row)) - largest(row), get_target());
        }
        // Of softmax the two largest of a group are added as shares.
        const bool by_score = chooses_by_score() || (limits_groups() && group_score == GroupScore::kTopTwo);
        if (by_score) {
            const Expr key = order(e, row), of_logit = score(from_order_key(key));
            const Expr share = scoring == Scoring::kSigmoid ? of_logit : of_logit / sum_of_all(row);
            const Expr b = bias ? (*bias)(min(likely(e), bias->dim(0).max())) : Expr(0.0f), sum = bias ? share + b : share;
            const Expr is_nan = bias ? key == nan_order() || is_nan_f32(b) : key == nan_order();
            const Expr of_sum = select(is_nan, nan_order(), order_key(sum));
            // Beside an infinity no other logit has a share: the order is theirs then.
            choice(e, row) = scoring == Scoring::kSigmoid ? of_sum : select(has_shares(), of_sum, key);
            if (bias) {
                bias->dim(0).set_bounds(0, count);
            }
        }
        if (!limits_groups()) {
            return;
        }
        const Expr size = count / int(groups);
        RDom in_group(0, size, "e");
        const Expr of_group = rank_key(choice_at(g * size + in_group), in_group);
        first(g, row) = no_rank();
        first(g, row) = max(first(g, row), of_group);
        Expr of = rank_order(first(g, row));
        if (group_score == GroupScore::kTopTwo) {
            second(g, row) = no_rank();
            second(g, row) = max(second(g, row), select(of_group < first(g, row), of_group, no_rank()));
            const Expr both = order_key(rank_value(first(g, row)) + rank_value(second(g, row)));
            of = select(of == nan_order() || second(g, row) == no_rank(), of, both);
        }
        group_key(g, row) = rank_key(of, g);
        RDom others(0, int(groups), "g");
        better(g, row) += select(group_key(others, row) > group_key(g, row), 1, 0);
    }

    /** Whether the largest logit is a number, for softmax. */
    Expr has_shares() {
        return row_max(row) > -0x7f800000 && row_max(row) < 0x7f800000;
    }

    static Expr nan_order() {
        return Expr(0x7fc00000);
    }

    Expr choice_at(const Expr &expert) {
        return choice.defined() ? choice(expert, row) : order(expert, row);
    }

    /** What the search goes over. */
    Expr choice_of(const Expr &expert) {
        if (!limits_groups()) {
            return choice_at(expert);
        }
        const Expr size = max(Expr(experts) / int(groups), 1);
        return select(better(clamp(expert / size, 0, int(groups) - 1), row) < int(top_groups), choice_at(expert), no_order());
    }

    /** The weight of what has place i, by its logit. */
    Expr share_of_score(const Expr &count) {
        const Expr at = clamp(rank_index(ranked(i)), 0, max(count - 1, 0));
        logit_key(i, row) = order(at, row);
        const Expr key = logit_key(i, row), nan = reinterpret<float>(Expr(0x7fc00000));
        weight(i, row) = select(is_none(i), 0.0f, score(from_order_key(key)));
        const bool of_all = scoring == Scoring::kSoftmax && softmax_first && !renormalise;
        if (!of_all && (scoring == Scoring::kSoftmax || renormalise)) {
            RDom ri(0, Expr(top_k), "i");
            sum(row) += weight(ri, row);
        }
        if (scoring == Scoring::kSoftmax) {
            return select(has_shares(), times_scale(weight(i, row) / (of_all ? sum_of_all(row) : sum(row))), nan);
        }
        if (!renormalise) {
            return select(key == nan_order(), nan, times_scale(weight(i, row)));
        }
        // Not of sigmoids that are all 0.
        RDom ri(0, Expr(top_k), "i");
        lost(row) += select(logit_key(ri, row) == nan_order() && !is_none(ri), 1, 0);
        return select(lost(row) > 0, nan, times_scale(weight(i, row) / (sum(row) + 1e-20f)));
    }

    void search_list() {
        const int best = top_k;
        top(i, row) = no_rank();
        RDom r({{0, best}, {0, Expr(experts)}}, "r");
        const Expr place = best - 1 - r.x, key = rank_key(choice_of(r.y), r.y);
        r.where(key > top(best - 1, row));  // otherwise it has no place
        top(place, row) = ranked_in(place, key, top(place, row), top(max(place - 1, 0), row));
    }

    void search_maxima() {
        RDom r(0, Expr(experts), "e");
        const Expr key = rank_key(choice_of(r), r);
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

    Var e{"e"}, g{"g"}, i{"i"}, row{"row"}, k{"k"};
    Func x_f{"x_f"}, acc{"acc"}, order{"order"}, top{"top"}, place_of_maxima{"place_of_maxima"}, weight{"weight"};
    Func sum{"sum"}, sum_of_all{"sum_of_all"}, chosen{"chosen"};
    Func row_max{"row_max"}, largest{"largest"}, choice{"choice"}, first{"first"}, second{"second"}, group_key{"group_key"},
        better{"better"};
    Func logit_key{"logit_key"}, lost{"lost"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(MoeRouter, moe_router)
