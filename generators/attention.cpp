// Scaled dot-product attention: out = softmax(scale * q k^T + bias) v, for each head.
// Vaswani et al. 2017; grouped queries: Ainslie et al. 2023. A query that may see no key gives zeros.
//
// Queries are aligned to the last key (bottom right): query i stands at key i + keys - queries; `diagonal` has other ways.
//
// Keys are cut into blocks of `key_block` (index kb), so that a schedule decides by compute_at
// whether scores exist for all keys, for a strip of queries, or for one block (Dao et al. 2022).
// Queries are cut into blocks of `query_block` (index ib), a strip each: a block of keys that no
// query of the strip may see is not computed. What padded keys and values hold never counts. A
// value that a query does not see for another reason counts with weight 0: it may be anything finite,
// and where it is NaN or infinite, so may be the results of the queries whose strip sees its block.
//
// Keys and values of another type than the queries are multiplied as f32.
//
// bf16 on the host: the first product is of bf16, with sums in f32, so that pairs may be multiplied in one instruction; what
// the weights of the values are for the second is `weight_type`. On a GPU they are rounded to the storage type.

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
#include "math/own_rounding.h"
#include "math/weights.h"
#include "math/unread.h"

namespace {

using namespace Halide;
using namespace halyard;

enum class SoftmaxForm { kTwoPass, kOnline, kRescaled };

class Attention : public Generator<Attention> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    Number key_block{"key_block", 16, 1, 4096};
    Number query_block{"query_block", 16, 1, 4096};
    /** two_pass: the maximum over all keys first. online: running maximum and rescaled accumulator,
     * so that a block of scores is needed only once (Milakov and Gimelshein 2018). rescaled: the same with weights by the
     * maximum of their block, and one accumulator of the result, its maximum and its sum (Dao et al. 2022); scale is
     * above 0 there. */
    GeneratorParam<SoftmaxForm> softmax{
        "softmax",
        SoftmaxForm::kTwoPass,
        {{"two_pass", SoftmaxForm::kTwoPass}, {"online", SoftmaxForm::kOnline}, {"rescaled", SoftmaxForm::kRescaled}}};
    /** Of the weights where they meet values of bf16, on the host; rounded ones are summed as they are. On a GPU they are
     * rounded to the storage type. */
    GeneratorParam<FactorType> weight_type{"weight_type", FactorType::kExact, factor_types()};
    GeneratorParam<bool> weight_parts{"weight_parts", false};  // exact ones are two of bf16, as a schedule's tiles want them
    /** lengths [batch]: keys from there on do not count. */
    GeneratorParam<bool> padded{"padded", false};
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
        if (cache.is_paged() && terms.diagonal == Diagonal::kBottomRight && (terms.causal || terms.windowed || terms.alibi)) {
            throw CompileError("with page, queries are placed by diagonal=lengths or top_left: pages have room behind the last key");
        }
        if ((terms.store_lse || terms.add_sink) && softmax == SoftmaxForm::kOnline) {
            throw CompileError(
                "store_lse=true and add_sink=true are for softmax=two_pass and rescaled; online keeps no maximum of all keys");
        }
    }

    void generate() {
        const int block = key_block, strip = query_block;
        const Expr keys = cache.keys(), blocks = (keys + (block - 1)) / block;
        const Expr ninf = Float(32).min();
        const Expr group = heads_of_group(*this, "attention", q.dim(2).extent(), cache.heads());
        const Expr key = kb * block + j, real_key = min(key, keys - 1);
        const Expr first_query = out.dim(1).min();
        read_only_if(
            *this, keys > 0,
            {"k", "v", "k_pages", "v_pages", "page_table", "k_scale", "v_scale", "k_scale_pages", "v_scale_pages", "mask", "bias"});
        const Expr nearest = min(first_query + ib * strip + i, out.dim(1).max());
        const auto visible = [&](const Expr &lowest, const Expr &highest) {
            return terms.visible(position(lowest), position(highest), keys, q.dim(1).extent());
        };
        const auto all = visible(first_query + ib * strip, first_query + ib * strip + (strip - 1));
        const auto own = visible(first_query + ib * strip + i, first_query + ib * strip + i);

        // The operands in f32. Reads are clamped, so that blocks may be whole; v is zero there and in the
        // padding, since its rows are summed with weights of zero, which a NaN there would survive.
        const bool rescaled = softmax == SoftmaxForm::kRescaled, on_gpu = get_target().has_gpu_feature();
        const int pair = rescaled || on_gpu || cache.is_converted() ? 1 : packed_group(type);
        const FactorType kind = weight_type == FactorType::kExact && weight_parts ? FactorType::kTwoBF16 : FactorType(weight_type);
        const bool in_pairs = pair == 2 && kind != FactorType::kExact;  // the second product, too
        if (kind == FactorType::kTwoBF16 && in_pairs && softmax != SoftmaxForm::kTwoPass) {
            throw CompileError("weight_type=two_bf16 is for softmax=two_pass; weight_type=exact is as exact");
        }
        const Expr depth = q.dim(0).extent();
        const auto value = [&](const Expr &column, const Expr &number) {
            const Expr real_column = on_gpu && !rescaled ? min(column, cache.columns() - 1) : column;
            return select(number < real_keys(), cache.value(real_column, min(number, keys - 1), hk, n), cast(cache.stored_type(), 0.0f));
        };
        if (pair == 2) {
            // In pairs along what is summed (index m), with a zero after an odd depth.
            const auto element = [&](const auto &from, const Expr &at) {
                return select(likely(at < depth), from(min(likely(at), depth - 1)), cast(type, 0.0f));
            };
            const auto key_element = [&](const Expr &at) { return cache.key(at, real_key, hk, n); };
            const auto query_element = [&](const Expr &at) -> Expr { return q(at, nearest, h, n); };
            k_pairs(d, j, kb, hk, n) = element(key_element, d);
            q_pairs(m, i, d, ib, h, n) = element(query_element, 2 * d + m);
            k_f(d, j, kb, hk, n) = load_f32(k_pairs(d, j, kb, hk, n));
            q_f(d, i, ib, h, n) = load_f32(q_pairs(d % 2, i, d / 2, ib, h, n));
        } else {
            const Expr stored = cache.load(cache.key(d, real_key, hk, n));
            k_f(d, j, kb, hk, n) = cache.is_scaled() ? stored * cache.key_factor(real_key, hk, n) : stored;
            q_f(d, i, ib, h, n) = load_f32(q(d, nearest, h, n)) * (rescaled ? Expr(1.0f) : Expr(*scale));
        }
        if (in_pairs) {
            v_pairs(m, d, j, kb, hk, n) = value(d, kb * block + 2 * j + m);
            v_f(d, j, kb, hk, n) = load_f32(v_pairs(j % 2, d, j / 2, kb, hk, n));
        } else {
            // The weights of keys after the last are 0 here as elsewhere, and what is read for them is a value.
            Expr stored = cache.load(rescaled && !padded ? cache.value(d, real_key, hk, n) : value(d, key));
            if (cache.is_scaled()) {  // what stands behind a length may be anything
                stored = stored * select(key < real_keys(), cache.value_factor(real_key, hk, n), 0.0f);
            }
            v_f(d, j, kb, hk, n) = stored;
        }

        RDom r(0, (depth + (pair - 1)) / pair * pair, "depth");
        scores(j, i, kb, ib, h, n) += q_f(r, i, ib, h, n) * k_f(r, j, kb, h / group, n);

        Expr s = scores(j, i, kb, ib, h, n);
        // In units of log2(e) where there are powers of 2, and where nothing is added, unscaled: then the exponent is one
        // multiplication with an addition.
        const bool plain = terms.plain();
        const Expr unit = rescaled ? Expr(std::log2(std::exp(1.0f))) : Expr(1.0f);
        const Expr factor = *scale * unit;
        const AttentionTerms::Place at_key{nearest, position(nearest), key, min(likely(key), keys - 1), h, n};
        if (terms.capped) {
            const bool scaled = pair != 2 && !rescaled;
            capped(j, i, kb, ib, h, n) = terms.cap(scaled ? s : s * *scale, get_target()) * unit;
            s = capped(j, i, kb, ib, h, n);
        } else if (pair == 2 || (rescaled && !plain)) {
            s = s * factor;
        }
        Expr mask, bias;
        if (terms.masked) {
            mask_f(j, i, kb, ib) = terms.mask_at(at_key);
            mask = mask_f(j, i, kb, ib);
        }
        if (terms.add_bias) {
            bias_f(j, i, kb, ib, h, n) = terms.bias_at(at_key);
            bias = bias_f(j, i, kb, ib, h, n);
        }
        s = terms.add(s, at_key, unit, mask, bias);
        Expr counts = key <= own.last;
        if (terms.windowed) {
            counts = counts && key >= own.first;
        }
        if (padded) {
            counts = counts && key < real_keys();
        }
        logits(j, i, kb, ib, h, n) = select(counts, s, ninf);

        // Loops over the blocks that a strip sees, one at least. The condition speaks of the strip, not of
        // a query: one on the lanes of queries would be a mask in every step, which takes more time
        // than it saves.
        // Halide 21 fails on a window and lengths in one such condition ("Cannot replace variable").
        const bool by_lengths = terms.windowed && terms.diagonal == Diagonal::kLengths;  // then all blocks are gone over
        const Expr last_key = by_lengths ? keys - 1 : padded && !terms.windowed ? min(all.last, real_keys() - 1) : all.last;
        const Expr last_block = clamp(last_key / block, 0, blocks - 1);
        const Expr first_block = terms.windowed && !by_lengths ? clamp(all.first / block, 0, last_block) : Expr(0);
        const auto seen = [&](RDom &domain, const RVar &number) {
            if (!terms.causal && !terms.windowed && !padded) {
                return;  // all of them: a schedule may cut the loop otherwise then
            }
            domain.where(number <= last_block);
            if (terms.windowed) {
                domain.where(number >= first_block);
            }
        };

        // Maxima start from the lowest number: what is -infinity then still gives 0, also where a query
        // sees nothing, and LLVM, which is told that there are no infinities, finds none in an exponent.
        const Expr lowest = -std::numeric_limits<float>::max();
        const auto weigh = [&](const Expr &top) {
            const auto weight = [&](const Expr &of_key) {
                return exp_nonpositive_f32(logits(of_key, i, kb, ib, h, n) - top, get_target());
            };
            if (in_pairs && kind == FactorType::kBF16) {
                weight_pairs(m, i, j, kb, ib, h, n) = store_as(type, weight(2 * j + m));
                p(j, i, kb, ib, h, n) = load_f32(weight_pairs(j % 2, i, j / 2, kb, ib, h, n));
            } else {
                p(j, i, kb, ib, h, n) = weight(j);
            }
            if (in_pairs && kind == FactorType::kTwoBF16) {
                p_parts(m, i, j, kb, part, ib, h, n) = part_in_bf16(p(2 * j + m, i, kb, ib, h, n), part, true);
            }
        };

        if (softmax == SoftmaxForm::kTwoPass) {
            RDom rm({{0, block}, {0, blocks}}, "key");
            seen(rm, rm.y);
            row_max(i, ib, h, n) = lowest;
            row_max(i, ib, h, n) = max(row_max(i, ib, h, n), logits(rm.x, i, rm.y, ib, h, n));
            // What comes of rfactor begins at -infinity, and LLVM takes the maximum of that and the lowest for that.
            const Expr top = row_max(i, ib, h, n);
            weigh(select(is_minus_infinity_f32(top), 0.0f, top));
            row_sum(i, ib, h, n) += p(rm.x, i, rm.y, ib, h, n);
            if (p_parts.defined()) {
                RDom rp({{0, block}, {0, blocks}, {0, 2}}, "key");
                seen(rp, rp.y);
                acc(d, i, ib, h, n) += load_f32(p_parts(rp.x % 2, i, rp.x / 2, rp.y, rp.z, ib, h, n)) * v_f(d, rp.x, rp.y, h / group, n);
            } else {
                acc(d, i, ib, h, n) += p(rm.x, i, rm.y, ib, h, n) * v_f(d, rm.x, rm.y, h / group, n);
            }
        } else if (softmax == SoftmaxForm::kOnline) {
            // A column of ones after those of v makes the last column of acc the sum of the weights,
            // so that it is rescaled with the others, in the same loop.
            const Expr columns = cache.columns();
            v_1(d, j, kb, hk, n) = select(d < columns, v_f(min(likely(d), columns - 1), j, kb, hk, n), 1.0f);
            RDom rj(0, block, "key");
            block_max(i, kb, ib, h, n) = lowest;
            block_max(i, kb, ib, h, n) = max(block_max(i, kb, ib, h, n), logits(rj, i, kb, ib, h, n));
            // The maximum before block kb from the history of them all, which grows by one in each step
            // (a sliding window); a maximum that reads its own last value would not slide.
            RDom rp(0, blocks, "block");
            seen(rp, rp);
            rp.where(rp < kb);
            last_max(i, kb, ib, h, n) = lowest;
            last_max(i, kb, ib, h, n) = max(last_max(i, kb, ib, h, n), block_max(i, rp, ib, h, n));
            row_max(i, kb, ib, h, n) = max(last_max(i, kb, ib, h, n), block_max(i, kb, ib, h, n));
            weigh(row_max(i, kb, ib, h, n));
            alpha(i, kb, ib, h, n) = exp_nonpositive_f32(last_max(i, kb, ib, h, n) - row_max(i, kb, ib, h, n), get_target());
            pv(d, i, kb, ib, h, n) += p(rj, i, kb, ib, h, n) * v_1(d, rj, kb, h / group, n);
            RDom rb(0, blocks, "block");
            seen(rb, rb);
            acc(d, i, ib, h, n) = 0.0f;
            acc(d, i, ib, h, n) = acc(d, i, ib, h, n) * alpha(i, rb, ib, h, n) + pv(d, i, rb, ib, h, n);
            row_sum(i, ib, h, n) = acc(columns, i, ib, h, n);
        } else {
            // A factor that is not above 0 would make a maximum a minimum.
            Parameter given = Expr(*scale).as<Internal::Variable>()->param;
            given.set_min_value(std::numeric_limits<float>::min());
            const Expr times = plain ? factor : Expr(1.0f);
            RDom rj(0, block, "key");
            raw_max(i, kb, ib, h, n) = ninf;
            raw_max(i, kb, ib, h, n) = max(raw_max(i, kb, ib, h, n), logits(rj, i, kb, ib, h, n));
            block_max(i, kb, ib, h, n) = max(raw_max(i, kb, ib, h, n) * times, lowest);
            p(j, i, kb, ib, h, n) = exp2_f32(logits(j, i, kb, ib, h, n) * times - block_max(i, kb, ib, h, n), get_target());
            block_sum(i, kb, ib, h, n) += p(rj, i, kb, ib, h, n);
            weights(j, i, kb, ib, h, n) = store_as(type, p(j, i, kb, ib, h, n));
            pv(d, i, kb, ib, h, n) += load_f32(weights(rj, i, kb, ib, h, n)) * v_f(d, rj, kb, h / group, n);
            // Counted from the first block that is seen: a condition from below would leave its bounds to each Func.
            RDom rb(0, blocks, "block");
            rb.where(rb <= last_block - first_block);
            const Expr number = rb + first_block;
            acc(d, i, ib, h, n) = Tuple(0.0f, lowest, 0.0f);
            const Expr before = acc(d, i, ib, h, n)[1], here = block_max(i, number, ib, h, n);
            const Expr top = max(before, here);
            const Expr of_before = exp2_f32(before - top, get_target()), of_here = exp2_f32(here - top, get_target());
            acc(d, i, ib, h, n) =
                Tuple(own_product(acc(d, i, ib, h, n)[0], of_before, get_target()) + pv(d, i, number, ib, h, n) * of_here, top,
                      own_product(acc(d, i, ib, h, n)[2], of_before, get_target()) + block_sum(i, number, ib, h, n) * of_here);
            result(d, i, ib, h, n) = acc(d, i, ib, h, n)[0];
            row_sum(i, ib, h, n) = acc(0, i, ib, h, n)[2];
        }
        const Expr row = (query - first_query) % strip, at = (query - first_query) / strip;
        // The denominator is by the maximum of the keys, or of them and the sink.
        Expr denominator = row_sum(i, ib, h, n), of_keys, top;
        if (softmax != SoftmaxForm::kOnline) {
            top = rescaled ? Expr(acc(0, i, ib, h, n)[1]) : Expr(row_max(i, ib, h, n));
            top = rescaled ? top : select(is_minus_infinity_f32(top), 0.0f, top);
            if (terms.add_sink) {
                const auto power = [&](const Expr &x) {
                    return rescaled ? exp2_f32(x, get_target()) : exp_nonpositive_f32(x, get_target());
                };
                const Expr of_sink = terms.sink(h) * unit, higher = max(max(of_sink, lowest), top);
                of_keys = power(top - higher);
                denominator = denominator * of_keys + power(of_sink - higher);
                top = higher;
            }
        }
        inv_sum(i, ib, h, n) = of_keys.defined() ? of_keys * reciprocal(denominator) : reciprocal(denominator);
        if (terms.store_lse) {
            lse_of_row(i, ib, h, n) = AttentionTerms::logarithm(top * (1.0f / unit), denominator);
            terms.define_lse({query, h, n}, lse_of_row(row, at, h, n), out);
        }
        const Expr sum = rescaled ? result(d, row, at, h, n) : acc(d, row, at, h, n);
        out(d, query, h, n) = store_as(type, sum * inv_sum(row, at, h, n));

        cache.constrain(*this, "attention", q.dim(0).extent());
        out.dim(0).set_extent(cache.columns());
    }

private:
    /** The key that a query stands at. */
    Expr position(const Expr &number) {
        const Expr end = terms.diagonal == Diagonal::kLengths ? real_keys() : cache.keys();
        return number - q.dim(1).min() + terms.first_position(q.dim(1).extent(), end);
    }

    Expr real_keys() {
        const Expr keys = cache.keys();
        return padded ? min(keys, terms.length(n)) : keys;
    }

    static Expr reciprocal(const Expr &sum) {
        return select(is_zero_f32(sum), 0.0f, 1.0f / sum);
    }

    Var d{"d"}, m{"m"}, query{"query"}, i{"i"}, ib{"ib"}, j{"j"}, kb{"kb"}, h{"h"}, hk{"hk"}, n{"n"}, part{"part"};
    Func k_f{"k_f"}, v_f{"v_f"}, q_f{"q_f"}, scores{"scores"}, logits{"logits"}, row_max{"row_max"}, p{"p"}, row_sum{"row_sum"},
        inv_sum{"inv_sum"}, acc{"acc"}, mask_f{"mask_f"}, bias_f{"bias_f"}, capped{"capped"}, lse_of_row{"lse_of_row"};
    Func k_pairs{"k_pairs"}, q_pairs{"q_pairs"}, v_pairs{"v_pairs"}, weight_pairs{"weight_pairs"}, p_parts{"weight_parts"};
    Func raw_max{"raw_max"}, block_sum{"block_sum"}, weights{"weights"}, result{"result"};
    Func block_max{"block_max"}, last_max{"last_max"}, alpha{"alpha"}, v_1{"v_1"}, pv{"pv"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Attention, attention)
