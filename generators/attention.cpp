// Scaled dot-product attention: out = softmax(scale * q k^T + mask) v, for each head.
// Vaswani et al. 2017; grouped queries: Ainslie et al. 2023. A query that may see no key gives zeros.
//
// Keys are cut into blocks of `key_block` (index kb), so that a schedule decides by compute_at
// whether scores exist for all keys, for a strip of queries, or for one block (Dao et al. 2022).

#include <Halide.h>

#include "math/compare.h"
#include "math/elements.h"
#include "math/exp.h"

namespace {

using namespace Halide;
using namespace halyard;

enum class SoftmaxForm { kTwoPass, kOnline };
enum class Mask { kNone, kAdditive, kPadding };

class Attention : public Generator<Attention> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    GeneratorParam<int> key_block{"key_block", 64};
    /** two_pass: the maximum over all keys first. online: running maximum and rescaled accumulator,
     * so that a block of scores is needed only once (Milakov and Gimelshein 2018). */
    GeneratorParam<SoftmaxForm> softmax{
        "softmax", SoftmaxForm::kTwoPass, {{"two_pass", SoftmaxForm::kTwoPass}, {"online", SoftmaxForm::kOnline}}};
    /** additive: mask [keys, queries], added to the scaled scores of every head. padding: lengths
     * [batch], keys from there on do not count. */
    GeneratorParam<Mask> masking{
        "masking", Mask::kNone, {{"none", Mask::kNone}, {"additive", Mask::kAdditive}, {"padding", Mask::kPadding}}};
    /** Key j counts for query i where j <= i + (keys - queries). */
    GeneratorParam<bool> causal{"causal", false};

    Input<Buffer<void, 4>> q{"q"};  // [head_dim, queries, heads, batch]
    Input<Buffer<void, 4>> k{"k"};  // [head_dim, keys, key_heads, batch]
    Input<Buffer<void, 4>> v{"v"};  // [head_dim, keys, key_heads, batch]
    Input<float> scale{"scale"};
    Input<Buffer<>> *mask = nullptr;
    Input<Buffer<>> *lengths = nullptr;
    Output<Buffer<void, 4>> out{"out"};  // [head_dim, queries, heads, batch]

    void configure() {
        q.set_type(storage_type(type));
        k.set_type(type);
        v.set_type(type);
        out.set_type(type);
        if (masking == Mask::kAdditive) {
            mask = add_input<Buffer<>>("mask", type, 2);
        } else if (masking == Mask::kPadding) {
            lengths = add_input<Buffer<>>("lengths", Int(32), 1);
        }
    }

    void generate() {
        const int block = key_block;
        const Expr keys = k.dim(1).extent(), blocks = (keys + (block - 1)) / block;
        const Expr ninf = Float(32).min();
        const Expr group = max(q.dim(2).extent() / k.dim(2).extent(), 1);
        const Expr key = kb * block + j;
        const Expr query = i - q.dim(1).min(), nearest = clamp(i, out.dim(1).min(), out.dim(1).max());

        Expr keys_of_batch = keys;
        if (masking == Mask::kPadding) {
            keys_of_batch = min(keys, (*lengths)(n));
        }

        // The operands in f32. Reads are clamped, so that a schedule may round blocks of keys and
        // strips of queries up; v is zero there and in the padding, since its rows are summed with
        // weights of zero, which a NaN there would survive.
        k_f(d, j, kb, hk, n) = load_f32(k(d, min(key, keys - 1), hk, n));
        v_f(d, j, kb, hk, n) = select(key < keys_of_batch, load_f32(v(d, min(key, keys - 1), hk, n)), 0.0f);
        q_f(d, i, h, n) = load_f32(q(d, nearest, h, n)) * scale;

        RDom r(0, q.dim(0).extent(), "depth");
        scores(j, i, kb, h, n) += q_f(r, i, h, n) * k_f(r, j, kb, h / group, n);

        Expr limit = keys_of_batch;
        if (causal) {
            limit = min(limit, query + (keys - q.dim(1).extent()) + 1);
        }
        Expr s = scores(j, i, kb, h, n);
        if (masking == Mask::kAdditive) {
            s = s + load_f32((*mask)(min(key, keys - 1), nearest));
        }
        logits(j, i, kb, h, n) = select(key < limit, s, ninf);

        // Reductions go over all blocks of keys, causal or not: a condition such as
        // rm.where(rm.y * block <= query + keys - queries) puts a mask on every lane of queries, which
        // takes more than it saves (38 ms against 27, 1024 x 1024, 8 heads of 64, Zen 4), and raises
        // the first query that is needed at all, so that a strip is no longer computed whole.
        const auto finite = [&](const Expr &m) { return select(is_minus_infinity_f32(m), 0.0f, m); };

        if (softmax == SoftmaxForm::kTwoPass) {
            RDom rm({{0, block}, {0, blocks}}, "key");
            row_max(i, h, n) = ninf;
            row_max(i, h, n) = max(row_max(i, h, n), logits(rm.x, i, rm.y, h, n));
            p(j, i, kb, h, n) = exp_f32(logits(j, i, kb, h, n) - finite(row_max(i, h, n)));
            RDom rs({{0, block}, {0, blocks}}, "key");
            row_sum(i, h, n) += p(rs.x, i, rs.y, h, n);
            RDom rv({{0, block}, {0, blocks}}, "key");
            acc(d, i, h, n) += p(rv.x, i, rv.y, h, n) * v_f(d, rv.x, rv.y, h / group, n);
        } else {
            // A column of ones after those of v makes the last column of acc the sum of the weights,
            // so that it is rescaled with the others, in the same loop.
            const Expr depth = v.dim(0).extent();
            v_1(d, j, kb, hk, n) = select(d < depth, v_f(min(likely(d), depth - 1), j, kb, hk, n), 1.0f);
            RDom rj(0, block, "key");
            block_max(i, kb, h, n) = ninf;
            block_max(i, kb, h, n) = max(block_max(i, kb, h, n), logits(rj, i, kb, h, n));
            // The maximum before block kb from the history of them all, which grows by one in each step
            // (a sliding window); a maximum that reads its own last value would not slide.
            RDom rp(0, blocks, "block");
            rp.where(rp < kb);
            last_max(i, kb, h, n) = ninf;
            last_max(i, kb, h, n) = max(last_max(i, kb, h, n), block_max(i, rp, h, n));
            row_max(i, kb, h, n) = max(last_max(i, kb, h, n), block_max(i, kb, h, n));
            p(j, i, kb, h, n) = exp_f32(logits(j, i, kb, h, n) - finite(row_max(i, kb, h, n)));
            alpha(i, kb, h, n) = exp_f32(last_max(i, kb, h, n) - finite(row_max(i, kb, h, n)));
            pv(d, i, kb, h, n) += p(rj, i, kb, h, n) * v_1(d, rj, kb, h / group, n);
            RDom rb(0, blocks, "block");
            acc(d, i, h, n) = 0.0f;
            acc(d, i, h, n) = acc(d, i, h, n) * alpha(i, rb, h, n) + pv(d, i, rb, h, n);
            row_sum(i, h, n) = acc(depth, i, h, n);
        }
        inv_sum(i, h, n) = reciprocal(row_sum(i, h, n));
        out(d, i, h, n) = store_as(type, acc(d, i, h, n) * inv_sum(i, h, n));

        k.dim(0).set_extent(q.dim(0).extent());
        v.dim(1).set_extent(k.dim(1).extent());
        v.dim(2).set_extent(k.dim(2).extent());
        out.dim(0).set_extent(v.dim(0).extent());
    }

private:
    static Expr reciprocal(const Expr &sum) {
        return select(is_zero_f32(sum), 0.0f, 1.0f / sum);
    }

    Var d{"d"}, i{"i"}, j{"j"}, kb{"kb"}, h{"h"}, hk{"hk"}, n{"n"};
    Func k_f{"k_f"}, v_f{"v_f"}, q_f{"q_f"}, scores{"scores"}, logits{"logits"}, row_max{"row_max"}, p{"p"},
        row_sum{"row_sum"}, inv_sum{"inv_sum"}, acc{"acc"};
    Func block_max{"block_max"}, last_max{"last_max"}, alpha{"alpha"}, v_1{"v_1"}, pv{"pv"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Attention, attention)
