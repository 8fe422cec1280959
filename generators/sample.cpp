// The next token of each row of logits: drawn from their softmax at a temperature, of the tokens that top-k, top-p and min-p leave.
// token is the first, in the order of the vocabulary, up to which the share of these is above `uniform`.
//
// No row is sorted. What is kept are the tokens above a cut, a logit, and the first few of those that equal it; a cut is found digit by
// digit of its bits: how many tokens, or how much of their weight, is at least so large? Floors make these passes short: if panels of
// neighbouring tokens have enough by their largest alone, a panel below these has nothing that is kept. Two ways, with the same result:
//
// lists        Panels that count are listed, and for each candidate of a digit of some bits what is as large is added up: in SIMD lanes.
// histograms   Each panel says for itself whether it counts. A digit has 8 bits, and is found in a histogram: by threads of a block.
//
// Weights are integers, multiples of 2^-40 of the largest: sums of them are exact, whatever their order.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <Halide.h>

#include "math/compare.h"
#include "math/elements.h"
#include "math/histogram_search.h"
#include "math/log.h"
#include "math/number.h"
#include "math/order.h"
#include "math/sampling.h"
#include "math/unread.h"

namespace {

using namespace Halide;
using namespace halyard;

constexpr int kMostTokens = std::numeric_limits<int32_t>::max() - (1 << 20);  // they are rounded up to chunks of panels, in 32 bits
constexpr int kMostInBlock = 1 << 27;  // by histograms: shared memory has a number for each panel of a slice
constexpr int kChunk = 64;             // panels whose sums are put together before they are searched
constexpr int kSlices = 1024;          // of a row, of neighbouring panels, for the same by histograms
constexpr int kOfSlices = 32;          // slices whose sums are put together
constexpr int kFloorBits = 16;         // of a floor, which may be lower than it could

enum class Search { kLists, kHistograms };

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
    Number digit{"digit", 4, 1, 4};      // bits of a cut that a pass over lists finds
    GeneratorParam<Search> search_by{"search", Search::kLists, {{"lists", Search::kLists}, {"histograms", Search::kHistograms}}};

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
        listed = search_by == Search::kLists;
        const int most = listed ? kMostTokens : kMostInBlock;
        add_requirement(vocab <= most, "logits has", vocab, "tokens, but may have", most);
        read_only_if(*this, vocab > 0, {"logits"}, Granted::kNo);
        some = vocab > 0;
        panels = (vocab + (panel - 1)) / panel;
        chunks = (panels + (kChunk - 1)) / kChunk;

        const Expr inside = likely(c < vocab);
        order(c, row) = select(inside, order_key(load_f32(logits(min(likely(c), max(vocab - 1, 0)), row))), no_order());
        RDom rj(0, panel, "j"), rp(0, panels, "p");
        if (!listed) {
            rj.where(some);
        }
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

    // What a row's parameters ask for. By histograms it is stored, for several kernels.
    void define_terms(const Expr &vocab) {
        const SamplingRow asked(temperature(row), top_k(row), min_p(row), uniform(row), vocab, row_max(row));
        const std::vector<std::pair<Func *, Expr>> all = {{&wanted, asked.wanted},   {&inverse, asked.inverse},
                                                          {&has_any, asked.has_any}, {&top, asked.top},
                                                          {&least, asked.least},     {&log_min_p, asked.log_min_p}};
        std::vector<Expr> values;
        for (const auto &[term, value] : all) {
            values.push_back(value);
        }
        if (!listed) {
            terms(row) = Tuple(values);
        }
        for (size_t i = 0; i < all.size(); i++) {
            (*all[i].first)(row) = listed ? values[i] : Expr(terms(row)[int(i)]);
        }
    }

    void define_top_k() {
        const auto all = [&](RDom &r) { r.where(wanted(row) > 0); };
        floor_k = search(
            "floor_k", kFloorBits, [&] { return RDom(0, panels, "p"); }, all, [&](const RDom &r) { return panel_max(r.x, row); },
            [&](const RDom &) { return Expr(1); }, wanted(row));
        Expr counts = panel_max(p, row) >= max(key_of(floor_k), least(row));
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
            "kth", key_bits(), [&] { return elements(); }, listed_k, [&](const RDom &r) { return key(r.x, r.y, list_k); },
            [&](const RDom &) { return Expr(1); }, wanted(row));

        if (!listed) {
            // The tokens above it, and as many of those that equal it as are missing; without top-k all of each panel.
            RDom of_panel(0, panel, "j"), over(0, panels, "p"), r = elements();
            of_panel.where(some && wanted(row) <= 0);
            panel_sum(p, row) += counted_weight(order(p * panel + of_panel, row));
            over.where(wanted(row) <= 0);
            sum_of_panels(row) += panel_sum(over, row);
            listed_k(r);
            const Expr x = key(r.x, r.y, list_k);
            above_weight_k(row) += select(x > key_of(kth), counted_weight(x), zero());
            places_k(row) = max(kth(row)[1], 0);
            all_weight(row) = select(wanted(row) > 0, above_weight_k(row) + counted_weight(key_of(kth)) * cast<uint64_t>(places_k(row)),
                                     sum_of_panels(row));
            return;
        }
        RDom every(0, panels, "q");
        every.where(every < list_k.count(row));
        weights(j, p, row) = undef<uint64_t>();
        weights(j, panel_of(every, list_k), row) = counted_weight(key(j, every, list_k));
        // The tokens above it, and those that equal it, of which some are kept.
        RDom r = elements();
        go_over(r, list_k);
        const Expr x = key(r.x, r.y, list_k), w = weight_of(r.x, r.y, list_k);
        above_k(row) += select(x > key_of(kth), 1, 0);
        equal_k(row) += select(x == key_of(kth), 1, 0);
        above_weight_k(row) += select(x > key_of(kth), w, zero());
        equal_weight_k(row) += select(x == key_of(kth), w, zero());
        places_k(row) = clamp(wanted(row) - above_k(row), 0, equal_k(row));
        all_weight(row) = above_weight_k(row) + equal_weight_k(row) / cast<uint64_t>(max(equal_k(row), 1)) * cast<uint64_t>(places_k(row));
    }

    void define_top_p() {
        goal(row) = sampling_goal(top_p(row), all_weight(row));
        const Expr narrows = goal(row) < all_weight(row);

        // A little more than the goal: an element may have less weight than the maximum that it is, by its last bits.
        panel_weight(p, row) = select(live_k(p, row), weight(panel_max(p, row), filter_scale()), zero());
        const Expr floor_goal = goal(row) + (goal(row) >> 16) + 1;
        if (listed) {
            floor_p = search(
                "floor_p", kFloorBits, [&] { return RDom(0, panels, "p"); }, [&](RDom &r) { r.where(narrows); },
                [&](const RDom &r) { return panel_max(r.x, row); }, [&](const RDom &r) { return panel_weight(r.x, row); }, floor_goal);
        } else {
            RDom r(0, panels, "p");
            const Expr largest = panel_max(r, row);
            r.where(narrows && live_k(r, row) && largest >= key_of(kth));
            floor_p = HistogramSearch::find_bin("floor_p", "near", row, nearness(largest), weight(largest, filter_scale()), floor_goal);
        }
        const Expr largest = panel_max(p, row);
        live_p(p, row) = live_k(p, row) && (listed ? largest >= floor_p(row) : cast<int32_t>(nearness(largest)) >= floor_p(row)[0]);
        list(list_p, "p", live_p);

        const auto listed_p = [&](RDom &r) {
            r.where(narrows);
            go_over(r, list_p);
            if (!listed) {  // none is below what top-k leaves
                r.where(key(r.x, r.y, list_p) >= key_of(kth) && counts(key(r.x, r.y, list_p)));
            }
        };
        Term weight_at = [&](const RDom &r) { return weight_of(r.x, r.y, list_p); };
        Expr left = goal(row);
        Where in_reach = listed_p;
        Func near;
        if (!listed) {
            // By how near they are to the largest, logits are spread over many bins; by their bits, which decide then, over few.
            weight_at = [&](const RDom &r) { return weight(key(r.x, r.y, list_p), filter_scale()); };
            RDom r = elements();
            listed_p(r);
            near = HistogramSearch::find_bin("nucleus", "near", row, nearness(key(r.x, r.y, list_p)), weight_at(r), left);
            left = near(row)[1];
            in_reach = [&](RDom &r) {
                listed_p(r);
                r.where(cast<int32_t>(nearness(key(r.x, r.y, list_p))) == near(row)[0]);
            };
        }
        nucleus = search(
            "nucleus", key_bits(), [&] { return elements(); }, in_reach, [&](const RDom &r) { return key(r.x, r.y, list_p); }, weight_at,
            left);
        cut(row) = max(key_of(kth), select(narrows, key_of(nucleus), no_order()));

        if (listed) {
            RDom r = elements();
            r.where(narrows);
            go_over(r, list_p);
            const Expr x = key(r.x, r.y, list_p), w = weight_of(r.x, r.y, list_p);
            above_p(row) += select(x > cut(row), w, zero());
            equal_p(row) += select(x == cut(row), w, zero());
        }
        RDom all = elements();
        if (!listed) {
            all.where(wanted(row) > 0 || narrows);
        }
        go_over(all, list_p);
        ties(row) += select(key(all.x, all.y, list_p) == cut(row), 1, 0);
        const Expr of_k = select(wanted(row) > 0 && cut(row) == key_of(kth), places_k(row), ties(row));
        const Expr of_each = listed ? equal_p(row) / cast<uint64_t>(max(ties(row), 1)) : counted_weight(cut(row));
        const Expr each = max(of_each, cast<uint64_t>(1));
        const Expr missing = listed ? select(goal(row) > above_p(row), goal(row) - above_p(row), zero()) : Expr(nucleus(row)[1]);
        const Expr of_p = cast<int32_t>(min((missing + each - 1) / each, cast<uint64_t>(std::numeric_limits<int32_t>::max())));
        const Expr places = select(narrows, min(of_k, of_p), of_k);
        limits(row) = Tuple(cut(row), places, cast<int32_t>(places < ties(row)));
    }

    void define_draw(const Expr &vocab) {
        const Expr lowest = limits(row)[0], places = limits(row)[1], cuts_ties = limits(row)[2] != 0;
        // The last of the tokens that equal the lowest.
        // Without a cut the weights are those of panels.
        if (!listed) {
            const Expr is_whole = wanted(row) <= 0 && lowest == no_order();
            whole = temperature_last ? Internal::const_false() : min_p_first ? is_whole : is_whole && log_min_p(row) < -1e37f;
        }
        Found tie = find("tie", cuts_ties, cast<uint64_t>(max(places - 1, 0)),
                         [&](const Expr &j, const Expr &q) { return select(key(j, q, list_p) == lowest, cast<uint64_t>(1), zero()); });
        last_tie(row) = select(cuts_ties, column(tie.j, tie.q, list_p), vocab);

        const auto kept_weight = [&](const Expr &j, const Expr &q) {
            const Expr x = key(j, q, list_p), at = column(j, q, list_p);
            const Expr kept = x >= least(row) && passes(x) && (x > lowest || (x == lowest && at <= last_tie(row)));
            return select(kept, temperature_last ? weight(x, inverse(row)) : weight_of(j, q, list_p), zero());
        };
        Found found = find("draw", has_any(row), Expr(), kept_weight, sampling_uniform(uniform(row)));
        drawn(row) = select(has_any(row), min(column(found.j, found.q, list_p), vocab - 1), -1);
        if (!logprob) {
            chosen(row) = drawn(row);
            token(row) = listed ? Expr(chosen(row)) : Expr(drawn(row));
            return;
        }
        RDom r(0, panels * panel, "c");
        const Expr x = order(r, row);
        exp_sum(row) += select(x >= least(row), exp_nonpositive_f32(sampling_value(x) - top(row), get_target()), 0.0f);
        // A select would read the first of none.
        const Expr key = Internal::Call::make(Int(32), Internal::Call::if_then_else, {some, order(max(drawn(row), 0), row), no_order()},
                                              Internal::Call::PureIntrinsic);
        const Expr below = min(sampling_value(key) - top(row), 0.0f);
        const Expr log_share = select(drawn(row) < 0, reinterpret<float>(Expr(0x7fc00000)), below - log_f32(exp_sum(row)));
        chosen(row) = Tuple(drawn(row), log_share);
        // On a device the kernel of these reads logits, and is not launched where there are none.
        token(row) = select(some, chosen(row)[0], -1);
        (*logprob)(row) = select(some, chosen(row)[1], reinterpret<float>(Expr(0x7fc00000)));
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
    // there is none. By histograms it is what HistogramSearch has.
    Func search(const std::string &name, int bits, const std::function<RDom()> &domain, const Where &where, const Term &key_of,
                const Term &amount, const Expr &reach) {
        if (!listed) {
            const auto asked = [&] {
                RDom r = domain();
                where(r);
                return r;
            };
            return HistogramSearch::search(name, bits, row, asked, key_of, amount, reach);
        }
        RDom r = domain();
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

    Expr key_of(const Func &found) const {
        return listed ? Expr(found(row)) : Expr(found(row)[0]);
    }

    struct Found {
        Expr j, q;
    };

    // The first element up to which amounts add up to more than the goal; the share `u` of all of them, where there is one.
    Found find(const std::string &name, const Expr &asked, const Expr &goal_or_none, const std::function<Expr(Expr, Expr)> &amount,
               const Expr &u = Expr()) {
        if (!listed) {
            return find_in_slices(name, asked, goal_or_none, amount, u);
        }
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
        beyond(row) = u.defined() ? sampling_share(u, total) : goal_or_none;

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

    // The same by threads of a block: sums of slices of neighbouring panels, then of 32 of these; then the first of these above the goal,
    // the slice among them, the panel of it, and the element.
    Found find_in_slices(const std::string &name, const Expr &asked, const Expr &goal_or_none,
                         const std::function<Expr(Expr, Expr)> &amount, const Expr &u) {
        const Expr of_slice = (panels + (kSlices - 1)) / kSlices, known = u.defined() ? asked && whole : Internal::const_false();
        const auto panel_at = [&](const Expr &n) { return clamp(n, 0, max(panels - 1, 0)); };
        const auto some_of = [&](const Expr &n) {  // of this panel elements are added up
            return asked && some && !known && n < panels && panel_max(panel_at(n), row) >= limits(row)[0];
        };
        Func slices(name + "_slices"), sums(name + "_sums"), total(name + "_total"), beyond(name + "_goal"), in_sums(name + "_in_sums"),
            in_slices(name + "_in_slices"), near(name + "_near"), in_panels(name + "_in_panels"), weights_there(name + "_elements"),
            in_elements(name + "_in_elements");
        RDom r({{0, Expr(panel)}, {0, of_slice}}, "r"), all(0, of_slice, "n");
        const Expr at = s * of_slice + r.y;
        r.where(some_of(at));
        slices(s, row) = zero();
        slices(s, row) += amount(r.x, panel_at(at));
        if (u.defined()) {
            all.where(known && s * of_slice + all < panels);
            slices(s, row) += panel_sum(panel_at(s * of_slice + all), row);
        }
        RDom together(0, kOfSlices, "t"), every(0, kSlices / kOfSlices, "t");
        sums(i, row) = zero();
        sums(i, row) += slices(i * kOfSlices + together, row);
        total(row) += sums(every, row);
        slices.bound(s, 0, kSlices);
        sums.bound(i, 0, kSlices / kOfSlices);
        beyond(row) = u.defined() ? sampling_share(u, total(row)) : goal_or_none;
        find_above(in_sums, row, kSlices / kOfSlices, beyond(row), [&](const Expr &n) { return sums(n, row); });
        const Expr first = clamp(in_sums(row)[0], 0, kSlices / kOfSlices - 1) * kOfSlices;
        find_above(in_slices, row, kOfSlices, in_sums(row)[1], [&](const Expr &n) { return slices(first + n, row); });
        const Expr first_panel = (first + clamp(in_slices(row)[0], 0, kOfSlices - 1)) * of_slice;
        RDom j(0, panel, "j");
        const Expr here = first_panel + i;
        j.where(some_of(here));
        near(i, row) = zero();
        near(i, row) += amount(j, panel_at(here));
        if (u.defined()) {
            RDom once(0, 1, "n");
            once.where(known && here + once < panels);
            near(i, row) += panel_sum(panel_at(here + once), row);
        }
        find_above(in_panels, row, of_slice, in_slices(row)[1], [&](const Expr &n) { return near(n, row); });
        const Expr q = panel_at(first_panel + max(in_panels(row)[0], 0));
        RDom it(0, 1, "n");
        it.where(asked && some);
        weights_there(j_, row) = zero();
        weights_there(j_, row) += amount(j_ + it, q);
        weights_there.bound(j_, 0, panel);
        find_above(in_elements, row, panel, in_panels(row)[1], [&](const Expr &n) { return weights_there(n, row); });
        return {max(in_elements(row)[0], 0), q};
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

    Expr distance(const Expr &key, const Expr &scale) const {
        return sampling_distance(key, top(row), scale);
    }
    Expr filter_scale() const {
        return temperature_last ? Expr(1.0f) : inverse(row);
    }
    // The same for all of a key, and larger for larger ones: 255 less eighths of the distance, for the filters.
    Expr nearness(const Expr &key) const {
        return cast<uint8_t>(255 - cast<int32_t>(min(distance(key, filter_scale()) * -8.0f, 255.0f)));
    }
    // Of min-p. It is one of the order of logits: where one passes, larger ones do.
    Expr passes(const Expr &key) const {
        return distance(key, filter_scale()) >= log_min_p(row);
    }

    // Of what the filters before top-p leave; an element's is computed once where panels are listed.
    Expr counts(const Expr &key) const {
        const Expr counts = key >= least(row);
        return min_p_first ? counts && passes(key) : counts;
    }
    Expr counted_weight(const Expr &key) const {
        return select(counts(key), weight(key, filter_scale()), zero());
    }
    Expr weight_of(const Expr &j, const Expr &q, const List &l) const {
        return listed ? weights(j, panel_of(q, l), row) : counted_weight(key(j, q, l));
    }

    Expr weight(const Expr &key, const Expr &scale) const {
        return sampling_weight(distance(key, scale), get_target());
    }

    bool listed = true;
    Expr whole;                 // whether a row's weights are those of whole panels
    Expr some, panels, chunks;  // some: whether there are tokens
    Var c{"c"}, d{"d"}, i{"i"}, j{"j"}, j_{"e"}, p{"p"}, q{"q"}, s{"s"}, row{"row"};
    List list_k, list_p;
    Func order{"order"}, panel_max{"panel_max"}, row_max{"row_max"};
    Func terms{"terms"}, panel_sum{"panel_sum"}, sum_of_panels{"sum_of_panels"};
    Func wanted{"wanted"}, inverse{"inverse"}, has_any{"has_any"}, top{"top"}, least{"least"}, log_min_p{"log_min_p"};
    Func floor_k, live_k{"live_k"}, kth, weights{"weights"}, above_k{"above_k"}, equal_k{"equal_k"}, above_weight_k{"above_weight_k"};
    Func equal_weight_k{"equal_weight_k"}, places_k{"places_k"}, all_weight{"all_weight"};
    Func goal{"goal"}, panel_weight{"panel_weight"}, floor_p, live_p{"live_p"}, nucleus, cut{"cut"}, above_p{"above_p"}, equal_p{"equal_p"};
    Func ties{"ties"}, limits{"limits"}, last_tie{"last_tie"}, drawn{"drawn"}, chosen{"chosen"}, exp_sum{"exp_sum"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Sample, sample)
