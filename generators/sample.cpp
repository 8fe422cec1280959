// The next token of each row of logits: drawn from their softmax at a temperature, of the tokens that top-k, top-p and min-p leave.
// token is the first, in the order of the vocabulary, up to which the share of these is above `uniform`.
//
// No row is sorted. What is kept are the tokens above a cut, a logit, and the first few of those that equal it; a cut is found digit by
// digit of its bits: how many tokens, or how much of their weight, is at least so large? Floors make these passes short: if panels of
// neighbouring tokens have enough by their largest alone, a panel below these has nothing that is kept.
//
// Weights are integers, multiples of 2^-40 of the largest: sums of them are exact, whatever their order.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <Halide.h>

#include "math/compare.h"
#include "math/elements.h"
#include "math/exp.h"
#include "math/log.h"
#include "math/number.h"
#include "math/order.h"
#include "math/unread.h"

namespace {

using namespace Halide;
using namespace halyard;

constexpr int kMostTokens = std::numeric_limits<int32_t>::max() - (1 << 20);  // they are rounded up to chunks of panels, in 32 bits
constexpr int kChunk = 64;                                                    // panels whose sums are put together before they are searched
constexpr int kFloorBits = 16;                                                // of a floor, which may be lower than it could
constexpr float kLargest = 0x1.fffffcp126f;                                   // of which differences are finite

class Sample : public Generator<Sample> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // of the logits: float32, float16 or bfloat16
    /** Where min-p stands. true: before top-k and top-p, as in vLLM: the share of top-p is of what min-p and top-k leave. false:
     * behind them, as in transformers and llama.cpp. */
    GeneratorParam<bool> min_p_first{"min_p_first", true};
    /** The filters see the logits as they are, and the temperature comes behind them, as in llama.cpp. */
    GeneratorParam<bool> temperature_last{"temperature_last", false};
    /** Adds the logarithm of the probability that the logits, without temperature and filters, give the token. */
    GeneratorParam<bool> logprobs{"logprobs", false};
    Number panel{"panel", 64, 1, 1024};  // neighbouring tokens
    Number digit{"digit", 4, 1, 4};      // bits of a cut that a pass finds
    /** The panels that count are listed first, and only these are gone over; otherwise each says for itself. */
    GeneratorParam<bool> listed{"listed", true};

    Input<Buffer<void, 2>> logits{"logits"};             // [vocab, rows]
    Input<Buffer<float, 1>> uniform{"uniform"};          // [rows], in [0, 1), or taken as the next number that is
    Input<Buffer<float, 1>> temperature{"temperature"};  // [rows]; the largest logit where it is not above 0
    Input<Buffer<int32_t, 1>> top_k{"top_k"};            // [rows]; all where it is not above 0
    Input<Buffer<float, 1>> top_p{"top_p"};              // [rows]; all from 1 on
    Input<Buffer<float, 1>> min_p{"min_p"};              // [rows]; all where it is not above 0
    Output<Buffer<int32_t, 1>> token{"token"};           // [rows]; -1 where there is no distribution
    Output<Buffer<>> *logprob = nullptr;                 // [rows]; NaN there

    void configure() {
        logits.set_type(storage_type(type));
        if (32 % digit != 0) {
            throw CompileError("digit is 1, 2 or 4");
        }
        if (logprobs) {
            logprob = add_output<Buffer<>>("logprob", Float(32), 1);
        }
    }

    void generate() {
        const Expr vocab = logits.dim(0).extent();
        add_requirement(vocab <= kMostTokens, "logits has", vocab, "tokens, but may have", kMostTokens);
        read_only_if(*this, vocab > 0, {"logits"});
        some = vocab > 0;
        panels = (vocab + (panel - 1)) / panel;
        chunks = (panels + (kChunk - 1)) / kChunk;

        const Expr inside = likely(c < vocab);
        order(c, row) = select(inside, order_key(load_f32(logits(min(likely(c), max(vocab - 1, 0)), row))), no_order());
        RDom rj(0, panel, "j"), rp(0, panels, "p");
        panel_max(p, row) = no_order();
        panel_max(p, row) = max(panel_max(p, row), order(p * panel + rj, row));
        row_max(row) = no_order();
        row_max(row) = max(row_max(row), panel_max(rp, row));

        define_terms(vocab);
        define_top_k();
        define_top_p();
        define_draw(vocab);
    }

private:
    using Where = std::function<void(RDom &)>;
    using Term = std::function<Expr(const RDom &)>;

    // What a row's parameters ask for.
    void define_terms(const Expr &vocab) {
        const Expr t = temperature(row), greedy = f32_bits(t) <= 0;
        wanted(row) = select(greedy, 1, top_k(row) <= 0 || top_k(row) >= vocab, 0, top_k(row));  // 0: all
        inverse(row) = select(greedy, 1.0f, min(1.0f / select(greedy, 1.0f, t), 1e30f));
        has_any(row) =
            row_max(row) > lowest_order() && row_max(row) <= 0x7f800000 && !is_nan_f32(t) && (greedy || !is_nan_f32(uniform(row)));
        top(row) = value_of(row_max(row));
        // Beside an infinity nothing has a probability.
        least(row) = select(row_max(row) >= 0x7f800000, 0x7f800000, lowest_order() + 1);
        const Expr share = f32_bits(min_p(row));
        log_min_p(row) = select(share <= 0 || share > 0x7f800000, -1e38f, share >= f32_bits(1.0f), 0.0f, log_f32(min_p(row)));
    }

    void define_top_k() {
        const auto all = [&](RDom &r) { r.where(wanted(row) > 0); };
        floor_k = search(
            "floor_k", kFloorBits, RDom(0, panels, "p"), all, [&](const RDom &r) { return panel_max(r.x, row); },
            [&](const RDom &) { return Expr(1); }, wanted(row));
        Expr counts = panel_max(p, row) >= max(floor_k(row), least(row));
        if (min_p_first) {
            counts = counts && passes(panel_max(p, row));
        }
        live_k(p, row) = counts;
        list(list_k, "k", live_k);

        const auto listed_k = [&](RDom &r) {
            r.where(wanted(row) > 0);
            go_over(r, list_k);
        };
        kth = search(
            "kth", key_bits(), elements(), listed_k, [&](const RDom &r) { return key(r.x, r.y, list_k); },
            [&](const RDom &) { return Expr(1); }, wanted(row));

        if (listed) {
            RDom all(0, panels, "q");
            all.where(all < list_k.count(row));
            weights(j, p, row) = undef<uint64_t>();
            weights(j, panel_of(all, list_k), row) = counted_weight(key(j, all, list_k));
        }
        // The tokens above it, and those that equal it, of which some are kept.
        RDom r = elements();
        go_over(r, list_k);
        const Expr x = key(r.x, r.y, list_k), w = weight_of(r.x, r.y, list_k);
        above_k(row) += select(x > kth(row), 1, 0);
        equal_k(row) += select(x == kth(row), 1, 0);
        above_weight_k(row) += select(x > kth(row), w, zero());
        equal_weight_k(row) += select(x == kth(row), w, zero());
        places_k(row) = clamp(wanted(row) - above_k(row), 0, equal_k(row));
        all_weight(row) = above_weight_k(row) + equal_weight_k(row) / cast<uint64_t>(max(equal_k(row), 1)) * cast<uint64_t>(places_k(row));
    }

    void define_top_p() {
        const Expr share = f32_bits(top_p(row)), full = share >= f32_bits(1.0f);  // a NaN too
        const Expr part = cast<uint64_t>(ceil(cast<double>(select(share <= 0, 0.0f, top_p(row))) * cast<double>(all_weight(row))));
        goal(row) = select(full, all_weight(row), clamp(part, cast<uint64_t>(1), max(all_weight(row), cast<uint64_t>(1))));
        const Expr narrows = goal(row) < all_weight(row);

        // A little more than the goal: an element may have less weight than the maximum that it is, by its last bits.
        panel_weight(p, row) = select(live_k(p, row), weight(panel_max(p, row), filter_scale()), zero());
        floor_p = search(
            "floor_p", kFloorBits, RDom(0, panels, "p"), [&](RDom &r) { r.where(narrows); },
            [&](const RDom &r) { return panel_max(r.x, row); }, [&](const RDom &r) { return panel_weight(r.x, row); },
            goal(row) + (goal(row) >> 16) + 1);
        live_p(p, row) = live_k(p, row) && panel_max(p, row) >= floor_p(row);
        list(list_p, "p", live_p);

        const auto listed_p = [&](RDom &r) {
            r.where(narrows);
            go_over(r, list_p);
        };
        nucleus = search(
            "nucleus", key_bits(), elements(), listed_p, [&](const RDom &r) { return key(r.x, r.y, list_p); },
            [&](const RDom &r) { return weight_of(r.x, r.y, list_p); }, goal(row));
        cut(row) = max(kth(row), select(narrows, nucleus(row), no_order()));

        RDom r = elements();
        r.where(narrows);
        go_over(r, list_p);
        const Expr x = key(r.x, r.y, list_p), w = weight_of(r.x, r.y, list_p);
        above_p(row) += select(x > cut(row), w, zero());
        equal_p(row) += select(x == cut(row), w, zero());
        RDom all = elements();
        go_over(all, list_p);
        ties(row) += select(key(all.x, all.y, list_p) == cut(row), 1, 0);
        const Expr of_k = select(wanted(row) > 0 && cut(row) == kth(row), places_k(row), ties(row));
        const Expr each = max(equal_p(row) / cast<uint64_t>(max(ties(row), 1)), cast<uint64_t>(1));
        const Expr missing = select(goal(row) > above_p(row), goal(row) - above_p(row), zero());
        const Expr of_p = cast<int32_t>(min((missing + each - 1) / each, cast<uint64_t>(std::numeric_limits<int32_t>::max())));
        const Expr places = select(narrows, min(of_k, of_p), of_k);
        limits(row) = Tuple(cut(row), places, cast<int32_t>(places < ties(row)));
    }

    void define_draw(const Expr &vocab) {
        const Expr lowest = limits(row)[0], places = limits(row)[1], cuts_ties = limits(row)[2] != 0;
        // The last of the tokens that equal the lowest.
        Found tie = find("tie", cuts_ties, cast<uint64_t>(max(places - 1, 0)),
                         [&](const Expr &j, const Expr &q) { return select(key(j, q, list_p) == lowest, cast<uint64_t>(1), zero()); });
        last_tie(row) = select(cuts_ties, column(tie.j, tie.q, list_p), vocab);

        const auto kept_weight = [&](const Expr &j, const Expr &q) {
            const Expr x = key(j, q, list_p), at = column(j, q, list_p);
            const Expr kept = x >= least(row) && passes(x) && (x > lowest || (x == lowest && at <= last_tie(row)));
            return select(kept, temperature_last ? weight(x, inverse(row)) : weight_of(j, q, list_p), zero());
        };
        const Expr bits = f32_bits(uniform(row));
        const Expr u = select(bits <= 0, 0.0f, bits >= f32_bits(1.0f), 0x1.fffffep-1f, uniform(row));
        Found found = find("draw", has_any(row), Expr(), kept_weight, u);
        drawn(row) = select(has_any(row), min(column(found.j, found.q, list_p), vocab - 1), -1);
        if (!logprob) {
            chosen(row) = drawn(row);
            token(row) = chosen(row);
            return;
        }
        RDom r(0, panels * panel, "c");
        const Expr x = order(r, row);
        exp_sum(row) += select(x >= least(row), exp_nonpositive_f32(value_of(x) - top(row), get_target()), 0.0f);
        // A select would read the first of none.
        const Expr key = Internal::Call::make(Int(32), Internal::Call::if_then_else, {some, order(max(drawn(row), 0), row), no_order()},
                                              Internal::Call::PureIntrinsic);
        const Expr below = min(value_of(key) - top(row), 0.0f);
        const Expr log_share = select(drawn(row) < 0, reinterpret<float>(Expr(0x7fc00000)), below - log_f32(exp_sum(row)));
        chosen(row) = Tuple(drawn(row), log_share);
        token(row) = chosen(row)[0];
        (*logprob)(row) = chosen(row)[1];
        logprob->dim(0).set_bounds(token.dim(0).min(), token.dim(0).extent());
    }

    // Panels that a row goes over.
    struct List {
        Func number, count;  // which panel, and how many are listed
        Func live;
    };

    void list(List &l, const std::string &name, const Func &live) {
        l.live = live;
        if (!listed) {
            return;
        }
        RDom r(0, panels, "n");
        Func place("place_" + name);
        place(p, row) = 0;
        place(r, row) = place(max(r - 1, 0), row) + select(live(r, row), 1, 0);
        l.number = Func("listed_" + name);
        l.number(q, row) = 0;
        RDom s(0, panels, "p");
        s.where(live(s, row));
        l.number(clamp(place(s, row) - 1, 0, panels - 1), row) = s;
        l.count = Func("count_" + name);
        l.count(row) = place(max(panels - 1, 0), row);
    }

    // The others are 0.
    int key_bits() const {
        return type == Float(32) ? 32 : type == Float(16) ? 20 : 16;
    }

    RDom elements() const {
        return RDom({{0, Expr(panel)}, {0, panels}}, "r");
    }
    Expr is_listed(const Expr &q, const List &l) const {
        return listed ? q < l.count(row) : l.live(q, row);
    }
    void go_over(RDom &r, const List &l) const {
        r.where(is_listed(r.y, l));
    }
    Expr panel_of(const Expr &q, const List &l) const {
        return listed ? clamp(l.number(q, row), 0, panels - 1) : q;
    }
    Expr column(const Expr &j, const Expr &q, const List &l) const {
        return panel_of(q, l) * panel + j;
    }
    Expr key(const Expr &j, const Expr &q, const List &l) const {
        return order(column(j, q, l), row);
    }

    // The largest order_key, of its first `bits`, so that what is at least as large adds up to the goal. The least of all keys where
    // there is none.
    Func search(const std::string &name, int bits, RDom r, const Where &where, const Term &key_of, const Term &amount, const Expr &reach) {
        const int digits = (1 << digit) - 1;
        where(r);
        Func found;
        for (int n = 0; n * digit < bits; n++) {
            const int shift = 32 - digit * (n + 1);
            const Expr before = n == 0 ? no_order() : found(row);
            const auto candidate = [&](const Expr &number) {
                return cast<int32_t>(cast<uint32_t>(before) + ((cast<uint32_t>(number) + 1) << shift));
            };
            const Expr of_one = amount(r);
            Func reached(name + "_sum_" + std::to_string(n));
            reached(d, row) = Internal::make_zero(of_one.type());
            reached(d, row) += select(key_of(r) >= candidate(d), of_one, Internal::make_zero(of_one.type()));
            Expr number = 0;
            for (int i = 0; i < digits; i++) {
                number += select(reached(i, row) >= max(reach, Internal::make_one(reach.type())), 1, 0);  // none where nothing is asked for
            }
            found = Func(name + "_" + std::to_string(n));
            found(row) = cast<int32_t>(cast<uint32_t>(before) + (cast<uint32_t>(number) << shift));
            reached.bound(d, 0, digits);
        }
        return found;
    }

    struct Found {
        Expr j, q;
    };

    // The first element up to which amounts add up to more than the goal; the share `u` of all of them, where there is one.
    Found find(const std::string &name, const Expr &asked, const Expr &goal_or_none, const std::function<Expr(Expr, Expr)> &amount,
               const Expr &u = Expr()) {
        RDom r(0, panel, "j");
        Func of_panel(name + "_of_panel"), of_chunk(name + "_of_chunk"), scan(name + "_chunks"), beyond(name + "_goal");
        of_panel(q, row) = zero();
        r.where(asked && some && (listed ? is_listed(q, list_p) : panel_max(q, row) >= limits(row)[0]));
        of_panel(q, row) += amount(r, q);
        RDom rc(0, kChunk, "p");
        rc.where(s * kChunk + rc < panels);
        of_chunk(s, row) = zero();
        of_chunk(s, row) += of_panel(min(s * kChunk + rc, panels - 1), row);
        scan_of(scan, chunks, [&](const Expr &i) { return of_chunk(i, row); });
        const Expr total = scan(max(chunks - 1, 0), row);
        beyond(row) =
            u.defined() ? min(cast<uint64_t>(cast<double>(u) * cast<double>(total)), max(total, cast<uint64_t>(1)) - 1) : goal_or_none;

        Func chunk(name + "_chunk"), panels_scan(name + "_panels"), in_chunk(name + "_panel"), element_scan(name + "_elements"),
            in_panel(name + "_element");
        first_above(chunk, scan, chunks, beyond(row));
        const Expr before_chunk = select(chunk(row) > 0, scan(max(chunk(row) - 1, 0), row), zero());
        const Expr first = chunk(row) * kChunk;
        scan_of(panels_scan, kChunk,
                [&](const Expr &i) { return select(first + i < panels, of_panel(min(first + i, panels - 1), row), zero()); });
        first_above(in_chunk, panels_scan, kChunk, beyond(row) - before_chunk);
        const Expr at = min(first + in_chunk(row), panels - 1);
        const Expr before = before_chunk + select(in_chunk(row) > 0, panels_scan(max(in_chunk(row) - 1, 0), row), zero());
        scan_of(
            element_scan, panel, [&](const Expr &i) { return amount(i, at); }, some);
        first_above(in_panel, element_scan, panel, beyond(row) - before);
        return {in_panel(row), at};
    }

    // Sums of the first ones.
    void scan_of(Func &scan, const Expr &count, const std::function<Expr(Expr)> &amount, const Expr &where = Internal::const_true()) {
        RDom r(0, count, "n");
        r.where(where);
        scan(i, row) = zero();
        scan(r, row) = scan(max(r - 1, 0), row) + amount(r);
    }

    // The number of sums that are not above the goal, at most the last one's.
    void first_above(Func &first, const Func &scan, const Expr &count, const Expr &goal) {
        RDom r(0, count, "i");
        Func number(first.name() + "_number");
        number(row) = 0;
        number(row) += select(scan(r, row) <= goal, 1, 0);
        first(row) = clamp(number(row), 0, max(count - 1, 0));
    }

    static Expr zero() {
        return cast<uint64_t>(0);
    }

    static Expr value_of(const Expr &key) {
        return from_order_key(clamp(key, -f32_bits(kLargest), f32_bits(kLargest)));
    }

    Expr distance(const Expr &key, const Expr &scale) const {
        return min((value_of(key) - top(row)) * scale, 0.0f);
    }
    Expr filter_scale() const {
        return temperature_last ? Expr(1.0f) : inverse(row);
    }
    // Of min-p. It is one of the order of logits: where one passes, larger ones do.
    Expr passes(const Expr &key) const {
        return distance(key, filter_scale()) >= log_min_p(row);
    }

    // Of what the filters before top-p leave; an element's is computed once where panels are listed.
    Expr counted_weight(const Expr &key) const {
        const Expr counts = key >= least(row);
        return select(min_p_first ? counts && passes(key) : counts, weight(key, filter_scale()), zero());
    }
    Expr weight_of(const Expr &j, const Expr &q, const List &l) const {
        return listed ? weights(j, panel_of(q, l), row) : counted_weight(key(j, q, l));
    }

    // e^distance in units of 2^-40, cut off.
    Expr weight(const Expr &key, const Expr &scale) const {
        const Expr bits = cast<uint32_t>(f32_bits(exp_nonpositive_f32(distance(key, scale), get_target())));
        const Expr mantissa = cast<uint64_t>((bits & 0x7fffffu) | 0x800000u), exponent = bits >> 23;
        return (mantissa << 17) >> cast<uint64_t>(clamp(127 - cast<int32_t>(exponent), 0, 63));
    }

    Expr some, panels, chunks;  // some: whether there are tokens
    Var c{"c"}, d{"d"}, i{"i"}, j{"j"}, p{"p"}, q{"q"}, s{"s"}, row{"row"};
    List list_k, list_p;
    Func order{"order"}, panel_max{"panel_max"}, row_max{"row_max"};
    Func wanted{"wanted"}, inverse{"inverse"}, has_any{"has_any"}, top{"top"}, least{"least"}, log_min_p{"log_min_p"};
    Func floor_k, live_k{"live_k"}, kth, weights{"weights"}, above_k{"above_k"}, equal_k{"equal_k"}, above_weight_k{"above_weight_k"};
    Func equal_weight_k{"equal_weight_k"}, places_k{"places_k"}, all_weight{"all_weight"};
    Func goal{"goal"}, panel_weight{"panel_weight"}, floor_p, live_p{"live_p"}, nucleus, cut{"cut"}, above_p{"above_p"}, equal_p{"equal_p"};
    Func ties{"ties"}, limits{"limits"}, last_tie{"last_tie"}, drawn{"drawn"}, chosen{"chosen"}, exp_sum{"exp_sum"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Sample, sample)
