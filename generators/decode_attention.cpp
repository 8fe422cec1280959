// Attention of a few queries over a long cache of keys and values: a step of decoding, or the
// check of some guessed tokens (speculative decoding; Leviathan et al. 2022).
//
// The queries of all heads that share keys are the rows of one small product, so a key is read once
// for them. Keys are cut into splits of `split_keys` (index sp), each with its own maximum, sum and
// product; a last step weighs the splits (flash-decoding, Dao et al. 2023). Whether splits run side by
// side or one after the other is the schedule's choice.
//
// Only the first lengths[n] keys of an entry of the batch count, whatever stands behind them. The
// queries stand at the last of them (bottom right): with `causal`, query i sees keys up to
// lengths[n] - queries + i. Values that only some of the queries see have to be finite, and by tensor cores those that a
// window leaves out, which are multiplied by 0 with what else is in their block. A query that
// may see no key gives zeros.

#include <cmath>
#include <limits>

#include <Halide.h>

#include "math/attention_terms.h"
#include "math/cache.h"
#include "math/compare.h"
#include "math/elements.h"
#include "math/exp.h"
#include "math/heads.h"
#include "math/number.h"
#include "math/open_number.h"
#include "math/own_rounding.h"
#include "math/weights.h"
#include "math/unread.h"

namespace {

using namespace Halide;
using namespace halyard;
using Halide::Internal::simplify;

enum class SoftmaxForm { kTwoPass, kRescaled, kOpen };

class DecodeAttention : public Generator<DecodeAttention> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    /** A multiple of key_block. -1: what the schedule says, by its parameter `split`; or, in the rescaled form, by `blocks`, how many
     * splits there are to be of all heads, and all sequences. */
    Number split_keys{"split_keys", 512, kOpen, 1 << 20};
    Number key_block{"key_block", 16, 1, 4096};
    Number row_block{"row_block", 4, 1, 4096};  // rows that share a read of the keys
    /** two_pass: the maximum of a split first. rescaled: as in attention.cpp, block by block of keys, so that scores are needed
     * only once; scale is above 0 there. open: rescaled where the schedule's parameter of that name is 1, by blocks of 16 keys, and of
     * as many rows as `rows` says. */
    GeneratorParam<SoftmaxForm> softmax{
        "softmax",
        SoftmaxForm::kTwoPass,
        {{"two_pass", SoftmaxForm::kTwoPass}, {"rescaled", SoftmaxForm::kRescaled}, {"open", SoftmaxForm::kOpen}}};
    /** lengths [batch]; without it all keys count. */
    GeneratorParam<bool> padded{"padded", true};
    Cache cache;
    AttentionTerms terms;

    Input<Buffer<void, 4>> q{"q"};  // [head_dim, queries, heads, batch]
    GeneratorInput<float> *scale = nullptr;
    Output<Buffer<void, 4>> out{"out"};  // [head_dim, queries, heads, batch]

    void configure() {
        q.set_type(storage_type(type));
        out.set_type(type);
        cache.add_to(*this, type, padded);
        scale = add_input<float>("scale");
        cache.add_scales(*this);
        terms.add_to(*this, type, padded);
    }

    void generate() {
        const Expr group = heads_of_group(*this, "decode_attention", q.dim(2).extent(), cache.heads());
        if (softmax == SoftmaxForm::kOpen) {
            const Attended rescaled = attended(true, group), two_pass = attended(false, group);
            const Expr is_rescaled = number_or_open(kOpen, "rescaled", 0, 1) == 1;
            out(d, query, h, n) = select(is_rescaled, rescaled.mean, two_pass.mean);
            if (terms.store_lse) {
                terms.define_lse({query, h, n}, select(is_rescaled, rescaled.lse, two_pass.lse), out);
            }
            add_requirement(!is_rescaled || *scale > 0, "decode_attention: scale is", Expr(*scale),
                            "but must be above 0 in the rescaled form");
        } else {
            const Attended all = attended(softmax == SoftmaxForm::kRescaled, group);
            out(d, query, h, n) = all.mean;
            if (terms.store_lse) {
                terms.define_lse({query, h, n}, all.lse, out);
            }
        }
        read_only_if(
            *this, cache.keys() > 0,
            {"k", "v", "k_pages", "v_pages", "page_table", "k_scale", "v_scale", "k_scale_pages", "v_scale_pages", "mask", "bias"});
        q.dim(1).set_extent(out.dim(1).extent());
        cache.constrain(*this, "decode_attention", q.dim(0).extent());
        out.dim(0).set_extent(cache.columns());
    }

private:
    struct Attended {
        Expr mean, lse;
    };

    // The mean of the values that (d, query, h, n) sees, `group` heads of which share keys.
    Attended attended(bool rescaled, const Expr &group) {
        Func q_rows{"q_rows"}, q_f{"q_f"}, k_block{"k_block"}, v_block{"v_block"}, k_f{"k_f"}, v_f{"v_f"}, scores{"scores"},
            logits{"logits"}, row_max{"row_max"}, p{"p"}, row_sum{"row_sum"}, acc{"acc"}, split{"split"};
        Func raw_max{"raw_max"}, block_max{"block_max"}, block_sum{"block_sum"}, weights{"weights"}, pv{"pv"};
        Func top{"top"}, weight{"weight"}, total{"total"}, sum{"sum"}, mean{"mean"}, capped{"capped"}, lse_top{"lse_top"},
            lse_sum{"lse_sum"}, k_factor{"k_factor"}, v_factor{"v_factor"};
        const bool open = softmax == SoftmaxForm::kOpen;
        const int block = open && rescaled ? kBlockOfTiles : int(key_block);
        const Expr rows = open && rescaled ? number_or_open(kOpen, "rows", 1, 4096) : Expr(int(row_block));
        const Expr keys = cache.keys(), queries = q.dim(1).extent();
        // One at least: a schedule that is open says no split where it says blocks.
        const Expr blocks = rescaled && split_keys == kOpen ? blocks_of_split(block, rows)
                                                            : simplify(max(number_or_open(split_keys, "split", 0, 1 << 20) / block, 1));
        const Expr splits = (keys + (blocks * block - 1)) / (blocks * block);
        // Finite, as LLVM is told that there are no infinities: far enough below where maxima start that the
        // exponential of the difference is 0, also where a row sees nothing.
        const Expr unseen = -std::numeric_limits<float>::max(), lowest = -1e38f;
        const Expr key = (sp * blocks + kb) * block + j;
        const Expr length = padded ? clamp(terms.length(n), 0, keys) : keys;

        // Row: the queries of a head, then those of the next head of the group.
        const Expr row_there = rb * rows + r, row = min(row_there, group * queries - 1);
        const Expr of_row = row % max(queries, 1);
        // On the host, keys that are converted go with zeros behind the depth, so that their vectors are whole.
        const bool whole = !rescaled && cache.is_converted() && !get_target().has_gpu_feature();
        const Expr depth = q.dim(0).extent(), at_depth = whole ? min(likely(d), depth - 1) : Expr(d);
        const auto in_depth = [&](const Expr &value) { return whole ? select(likely(d < depth), value, 0.0f) : value; };
        const auto query_of_row = [&](const Expr &row) {
            return q(at_depth, row % max(queries, 1) + q.dim(1).min(), hk * group + row / max(queries, 1), n);
        };
        // Reads are clamped, so that tiles may be whole. Likely: all but the last ones are inside.
        const Expr real_key = min(likely(key), keys - 1), real_d = min(likely(d), cache.columns() - 1);
        const Type stored = cache.stored_type();
        k_block(d, j, kb, sp, hk, n) = cache.key(d, real_key, hk, n);
        v_block(d, j, kb, sp, hk, n) = select(likely(key < length), cache.value(real_d, real_key, hk, n), cast(stored, 0));
        if (rescaled) {
            // As rows that are apart by one distance, if a schedule computes it.
            q_rows(d, row_of_group, hk, n) = query_of_row(min(row_of_group, group * queries - 1));
            q_f(d, r, rb, hk, n) = load_f32(q_rows(d, row_there, hk, n));
            const Expr there = min(key, keys - 1), value = cache.value(d, there, hk, n);
            k_f(d, j, kb, sp, hk, n) = cache.load(cache.key(d, there, hk, n));
            v_f(d, j, kb, sp, hk, n) = cache.load(padded ? select(key < length, value, cast(stored, 0.0f)) : value);
        } else {
            q_f(d, r, rb, hk, n) = in_depth(load_f32(query_of_row(row)) * *scale);
            k_f(d, j, kb, sp, hk, n) = in_depth(cache.load(k_block(at_depth, j, kb, sp, hk, n)));
            v_f(d, j, kb, sp, hk, n) = cache.load(v_block(d, j, kb, sp, hk, n));
        }

        RDom rd(0, whole ? (depth + (kLongestVector - 1)) / kLongestVector * kLongestVector : depth, "depth");
        scores(j, r, kb, sp, rb, hk, n) += q_f(rd, r, rb, hk, n) * k_f(rd, j, kb, sp, hk, n);
        const Expr position = of_row + terms.first_position(queries, length);
        const auto own = terms.visible(position, position, length, queries);
        // In units of log2(e) where there are powers of 2.
        const bool plain = terms.plain(), top_left = terms.diagonal == Diagonal::kTopLeft;
        const Expr unit = rescaled ? Expr(std::log2(std::exp(1.0f))) : Expr(1.0f);
        if (cache.is_scaled()) {  // what stands behind the length may be anything
            k_factor(j, kb, sp, hk, n) = cache.key_factor(real_key, hk, n);
            v_factor(j, kb, sp, hk, n) = select(likely(key < length), cache.value_factor(real_key, hk, n), 0.0f);
        }
        Expr s = scores(j, r, kb, sp, rb, hk, n);
        if (cache.is_scaled()) {
            s = s * k_factor(j, kb, sp, hk, n);
        }
        if (terms.capped) {
            capped(j, r, kb, sp, rb, hk, n) = terms.cap(rescaled ? s * *scale : s, get_target()) * unit;
            s = capped(j, r, kb, sp, rb, hk, n);
        } else if (rescaled && !plain) {
            s = s * (*scale * unit);
        }
        const AttentionTerms::Place at_key{of_row + q.dim(1).min(), position, key, real_key, hk * group + row / max(queries, 1), n};
        s = terms.add(s, at_key, unit, terms.masked ? terms.mask_at(at_key) : Expr(), terms.add_bias ? terms.bias_at(at_key) : Expr());
        Expr counts = key < (terms.causal && !top_left ? length - (queries - 1 - of_row) : length);
        if (terms.windowed || (terms.causal && top_left)) {
            counts = counts && key <= own.last;
        }
        if (terms.windowed) {
            counts = counts && key >= own.first;
        }
        logits(j, r, kb, sp, rb, hk, n) = select(counts, s, rescaled ? Float(32).min() : unseen);

        // One split: the blocks that begin before the length, one at least.
        Expr last_block = max((length - 1) / block - sp * blocks, 0);
        if (terms.windowed) {
            // Of a split before what the first query sees, one block.
            const Expr first = terms.first_position(queries, length);
            const Expr seen = terms.visible(first, first, length, queries).first;
            last_block = select((sp + 1) * (blocks * block) <= seen, 0, last_block);
        }
        if (rescaled) {
            // A factor that is not above 0 would make a maximum a minimum. In units of log2(e).
            if (!open) {
                Parameter given = Expr(*scale).as<Internal::Variable>()->param;
                given.set_min_value(std::numeric_limits<float>::min());
            }
            const Expr factor = plain ? *scale * unit : Expr(1.0f);
            RDom rj(0, block, "key");
            raw_max(r, kb, sp, rb, hk, n) = Float(32).min();
            raw_max(r, kb, sp, rb, hk, n) = max(raw_max(r, kb, sp, rb, hk, n), logits(rj, r, kb, sp, rb, hk, n));
            block_max(r, kb, sp, rb, hk, n) = max(raw_max(r, kb, sp, rb, hk, n) * factor, unseen);
            p(j, r, kb, sp, rb, hk, n) = exp2_f32(logits(j, r, kb, sp, rb, hk, n) * factor - block_max(r, kb, sp, rb, hk, n), get_target());
            block_sum(r, kb, sp, rb, hk, n) += p(rj, r, kb, sp, rb, hk, n);
            weights(j, r, kb, sp, rb, hk, n) = store_as(type, p(j, r, kb, sp, rb, hk, n));
            pv(d, r, kb, sp, rb, hk, n) += load_f32(weights(rj, r, kb, sp, rb, hk, n)) * v_f(d, rj, kb, sp, hk, n);
            RDom rk(0, blocks, "block");
            rk.where(rk <= last_block);
            acc(d, r, sp, rb, hk, n) = Tuple(0.0f, unseen, 0.0f);
            const Expr before = acc(d, r, sp, rb, hk, n)[1], here = block_max(r, rk, sp, rb, hk, n), higher = max(before, here);
            const Expr of_before = exp2_f32(before - higher, get_target()), of_here = exp2_f32(here - higher, get_target());
            acc(d, r, sp, rb, hk, n) =
                Tuple(own_product(acc(d, r, sp, rb, hk, n)[0], of_before, get_target()) + pv(d, r, rk, sp, rb, hk, n) * of_here, higher,
                      own_product(acc(d, r, sp, rb, hk, n)[2], of_before, get_target()) + block_sum(r, rk, sp, rb, hk, n) * of_here);
            const Tuple all = acc(d, r, sp, rb, hk, n);
            split(d, r, sp, rb, hk, n) = {all[0], all[1], all[2]};
        } else {
            RDom rk({{0, block}, {0, blocks}}, "key");
            rk.where(rk.y <= last_block);
            row_max(r, sp, rb, hk, n) = lowest;
            row_max(r, sp, rb, hk, n) = max(row_max(r, sp, rb, hk, n), logits(rk.x, r, rk.y, sp, rb, hk, n));
            p(j, r, kb, sp, rb, hk, n) = exp_f32(logits(j, r, kb, sp, rb, hk, n) - row_max(r, sp, rb, hk, n), get_target());
            row_sum(r, sp, rb, hk, n) += p(rk.x, r, rk.y, sp, rb, hk, n);
            if (cache.is_scaled()) {
                weights(j, r, kb, sp, rb, hk, n) = p(j, r, kb, sp, rb, hk, n) * v_factor(j, kb, sp, hk, n);
            }
            const Func weight_of = cache.is_scaled() ? weights : p;
            acc(d, r, sp, rb, hk, n) += weight_of(rk.x, r, rk.y, sp, rb, hk, n) * v_f(d, rk.x, rk.y, sp, hk, n);
            split(d, r, sp, rb, hk, n) = {acc(d, r, sp, rb, hk, n), row_max(r, sp, rb, hk, n), row_sum(r, sp, rb, hk, n)};
        }

        // All splits, of a row: where its query stands, so that what weighs them writes them out, or by groups.
        const Expr number = (h % group) * queries + (query - out.dim(1).min());
        const auto part = [&](const Expr &d, const Expr &sp) -> Tuple {
            return rescaled ? split(d, number % rows, sp, number / rows, h / group, n) : split(d, r, sp, rb, hk, n);
        };
        const std::vector<Var> row_of = rescaled ? std::vector<Var>{query, h, n} : std::vector<Var>{r, rb, hk, n};
        const std::vector<Expr> here(row_of.begin(), row_of.end());
        const auto with = [](auto list, size_t at, auto more) {
            list.insert(list.begin() + long(at), more);
            return list;
        };
        RDom rs(0, splits, "split");
        // A sink is of no split.
        const auto sink_of = [&](const Expr &head) { return terms.sink(head) * unit; };
        const auto power = [&](const Expr &x) { return rescaled ? exp2_f32(x, get_target()) : exp_f32(x, get_target()); };
        const Expr head = rescaled ? Expr(h) : hk * group + row / max(queries, 1);
        top(row_of) = terms.add_sink ? max(sink_of(head), lowest) : lowest;
        top(row_of) = max(top(here), part(0, rs)[1]);
        const Expr below = part(0, sp)[1] - top(here);
        weight(with(row_of, 1, sp)) = power(below);
        if (terms.add_sink) {
            total(row_of) = power(sink_of(head) - top(here));
        }
        total(row_of) += weight(with(here, 1, Expr(rs))) * part(0, rs)[2];
        sum(with(row_of, 0, d)) += weight(with(here, 1, Expr(rs))) * part(d, rs)[0];
        const Expr divisor = total(here);
        mean(with(row_of, 0, d)) = sum(with(here, 0, Expr(d))) * select(is_zero_f32(divisor), 0.0f, 1.0f / divisor);
        Attended all;
        all.mean = store_as(type, rescaled ? mean(d, query, h, n) : mean(d, number % rows, number / rows, h / group, n));
        if (terms.store_lse) {
            // From the splits once more, which is little beside their sums.
            const auto stored = [&](const Expr &sp) { return split(0, number % rows, sp, number / rows, h / group, n); };
            RDom rl(0, splits, "split");
            lse_top(query, h, n) = terms.add_sink ? max(sink_of(h), lowest) : lowest;
            lse_top(query, h, n) = max(lse_top(query, h, n), stored(rl)[1]);
            const Expr highest = lse_top(query, h, n);
            lse_sum(query, h, n) = terms.add_sink ? power(sink_of(h) - highest) : Expr(0.0f);
            lse_sum(query, h, n) += power(stored(rl)[1] - highest) * stored(rl)[2];
            all.lse = AttentionTerms::logarithm(highest * (1.0f / unit), lse_sum(query, h, n));
        }
        return all;
    }

    // So many that all splits are as many as wanted, if there are keys for them; 0 wanted: as long as the schedule says.
    Expr blocks_of_split(int block, const Expr &rows) {
        const Expr all = (cache.keys() + (block - 1)) / block;
        const Expr of_head = q.dim(2).extent() * q.dim(1).extent() / max(cache.heads(), 1);
        const Expr groups = (of_head + (rows - 1)) / rows * cache.heads() * cache.batch();
        const Expr wanted = number_or_open(kOpen, "blocks", 0, 65536);
        const Expr splits = max(min(wanted / max(groups, 1), (all + (kLeastBlocks - 1)) / kLeastBlocks), 1);
        const Expr given = max(number_or_open(kOpen, "split", 0, 1 << 20) / block, 1);
        return select(wanted == 0, given, max((all + (splits - 1)) / splits, 1));
    }

    static constexpr int kLongestVector = 16;                   // of f32
    static constexpr int kBlockOfTiles = 16, kLeastBlocks = 4;  // keys of a block, blocks of a split

    Var d{"d"}, query{"query"}, row_of_group{"row"}, j{"j"}, kb{"kb"}, sp{"sp"}, r{"r"}, rb{"rb"}, h{"h"}, hk{"hk"}, n{"n"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(DecodeAttention, decode_attention)
