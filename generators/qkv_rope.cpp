// The front of the attention of a decoder, of one x: the three projections, RMSNorm of each head of q and k (QK-norm: Henry et al.,
// Query-Key Normalization for Transformers, 2020; as Qwen3 and Gemma 3 have it), their rotation by the position of the token
// (math/rope.h), and k and v stored into a cache in its own type, where the slot of the token says (math/cache_rows.h).
//
//   q[head] = rotated(norm(x w_q + bias_q))      k[head] -> row slots[token] of k        v[head] -> row slots[token] of v
//
// All between the projections and what is stored is f32: nothing is rounded on the way.

#include <functional>
#include <string>

#include <Halide.h>

#include "math/cache_rows.h"
#include "math/elements.h"
#include "math/heads.h"
#include "math/linear.h"
#include "math/number.h"
#include "math/own_rounding.h"
#include "math/rms.h"
#include "math/rope.h"
#include "math/unread.h"

namespace {

using namespace Halide;
using namespace halyard;

/** The factor of a norm: its weight, or 1 + weight, as Gemma stores it. */
enum class HeadNorm { kNone, kWeight, kOnePlusWeight };

class QkvRope : public Generator<QkvRope> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    GeneratorParam<WeightLayout> weights{"weights", WeightLayout::kPacked, linear_layouts()};
    Number panel{"panel", 64, 1, 1024};
    GeneratorParam<bool> add_bias{"add_bias", false};
    GeneratorParam<HeadNorm> qk_norm{
        "qk_norm",
        HeadNorm::kNone,
        {{"none", HeadNorm::kNone}, {"weight", HeadNorm::kWeight}, {"one_plus_weight", HeadNorm::kOnePlusWeight}}};
    Rotation rotation;
    CacheRows cache;

    Input<Buffer<void, 2>> x{"x"};     // [depth, tokens]
    Linear w[3];                       // of q, k, v: d * heads, d * key_heads and as many columns
    Input<Buffer<>> *bias[3] = {};     // [d * heads], [d * key_heads], [d * key_heads]
    Input<Buffer<>> *norm_of[2] = {};  // of q, k: [d]
    Input<float> *eps = nullptr;       // of the norm
    Output<Buffer<void, 3>> q{"q"};    // [d, heads, tokens]

    void configure() {
        x.set_type(storage_type(type));
        q.set_type(type);
        const std::string names[] = {"q", "k", "v"};
        for (int i = 0; i < 3; i++) {
            w[i].add_to(*this, "w_" + names[i], weights, panel, type, get_target());
            if (add_bias) {
                bias[i] = add_input<Buffer<>>("bias_" + names[i], type, 1);
            }
        }
        if (qk_norm != HeadNorm::kNone) {
            norm_of[0] = add_input<Buffer<>>("norm_q", type, 1);
            norm_of[1] = add_input<Buffer<>>("norm_k", type, 1);
            eps = add_input<float>("eps");
        }
        rotation.add_to(*this);
        cache.add_to(*this, type);
    }

    void generate() {
        d = q.dim(0).extent();
        tokens = q.dim(2).extent();
        heads_of_group(*this, "qkv_rope", q.dim(1).extent(), cache.heads());
        rotation.define(*this, "qkv_rope", d);
        // Rows that are none are read as one that is, so that a schedule may round them up.
        x_f(k, row) = load_f32(x(k, get_target().has_gpu_feature() ? row_at(x, row, get_target()) : clamp(row, 0, max(tokens - 1, 0))));

        const Func of_q = rotated(0, q.dim(1).extent());
        if (get_target().has_gpu_feature()) {
            // By the loops of the rows of the cache, of which Halide does not see that no two are one: so that a block may have all three.
            const RDom each(0, tokens, "token");
            q(i, head, token) = undef(type);
            q(i, head, clamp(each, 0, max(tokens - 1, 0))) = store_as(type, of_q(i, head, each));
            Func(q).update(0).allow_race_conditions();
        } else {
            q(i, head, token) = store_as(type, of_q(i, head, token));
        }
        cache.store(cache.k, rotated(1, cache.heads()), d, tokens, get_target());
        cache.store(cache.v, projected(2, cache.heads()), d, tokens, get_target());

        for (int dim = 0; dim < 3; dim++) {
            q.dim(dim).set_min(0);
        }
        x.dim(1).set_bounds(0, tokens);
        rotation.positions().dim(0).set_bounds(0, tokens);
        cache.constrain(*this, d, tokens);
        read_only_if(*this, tokens > 0, {"x", "positions", "slots", "cos_table", "sin_table", get_target().has_gpu_feature() ? "q" : ""},
                     Granted::kNo);
    }

private:
    using Element = std::function<Expr(const Expr &)>;

    static std::string suffix_of(int n) {
        return std::string("_") + "qkv"[n];
    }

    /** Element by element of a head of a token, what projection `n` has there, f32. */
    Element linear(int n, const Expr &heads) {
        const Expr columns = d * heads;
        Func acc("acc" + suffix_of(n)), linear("linear" + suffix_of(n));
        read_only_if(*this, columns > 0 && tokens > 0, {weights_name("w" + suffix_of(n), weights), "bias" + suffix_of(n)}, Granted::kNo);
        w[n].multiply(acc(col, row), x.width(), col, columns, [&](const Expr &depth) { return x_f(depth, row); });
        const Expr sum = acc(col, row);
        linear(col, row) = bias[n] ? own_sum(sum, load_f32((*bias[n])(clamp(col, 0, max(columns - 1, 0)))), get_target()) : sum;
        // Of a factor of which the sign is known, Halide finds the columns that a head needs.
        return [=](const Expr &element) { return linear(head * max(d, 1) + element, token); };
    }

    /** The heads of projection `n`: a Func over [i, head, token]. */
    Func projected(int n, const Expr &heads) {
        Func of_head("head" + suffix_of(n));
        of_head(i, head, token) = linear(n, heads)(i);
        return of_head;
    }

    /** The same with norm and rotation. */
    Func rotated(int n, const Expr &heads) {
        const Element before = linear(n, heads);
        Element at = before;
        if (norm_of[n]) {
            Func sum_sq("sum_sq" + suffix_of(n)), factor("inv_rms" + suffix_of(n));
            const RDom r(0, d, "i");
            sum_sq(head, token) += before(r) * before(r);
            factor(head, token) = inverse_rms(sum_sq(head, token), d, *eps);
            norm_of[n]->dim(0).set_bounds(0, d);
            at = [=](const Expr &element) {
                const Expr weight = load_f32((*norm_of[n])(element));
                return before(element) * factor(head, token) * (qk_norm == HeadNorm::kOnePlusWeight ? 1.0f + weight : weight);
            };
        }
        Func of_head("head" + suffix_of(n));
        of_head(i, head, token) = rotation.turned(suffix_of(n), i, head, token, at(i), at, at);
        return of_head;
    }

    Var i{"i"}, head{"head"}, token{"token"}, col{"col"}, row{"row"}, k{"k"};
    Func x_f{"x_f"};
    Expr d, tokens;
};

}  // namespace

HALIDE_REGISTER_GENERATOR(QkvRope, qkv_rope)
