// The attention block of a transformer as its equations stand in papers, of the headers in generators/math: a norm, the three projections,
// RoPE, causal attention with grouped queries over the tokens of the call, the product back and the residual. Where anything of it is
// stored, and what shares a loop, is nobody's decision yet.
//
//   n = x / rms(x) * weight      q, k = rope(n w_q), rope(n w_k)      v = n w_v
//   p = exp(scale q k^T - max)   y = (p v / sum of p) w_o + x

#include <cmath>
#include <limits>
#include <string>

#include <Halide.h>

#include "math/elements.h"
#include "math/exp.h"
#include "math/linear.h"
#include "math/number.h"
#include "math/rms.h"
#include "math/rope.h"

namespace {

using namespace Halide;
using namespace halyard;

class AttentionBlock : public Generator<AttentionBlock> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    Number panel{"panel", 64, 1, 1024};            // columns of a packed panel of weights
    Number d{"d", 64, 2, 1024};                    // elements of a head
    Number heads{"heads", 16, 1, 1024}, key_heads{"key_heads", 4, 1, 1024};
    Rotation rotation;

    Input<Buffer<void, 2>> x{"x"};  // [depth, tokens]
    Input<Buffer<void, 1>> weight{"weight"};
    Linear w[3], w_o;  // of q, k, v: depth x d * heads, d * key_heads and as many; back
    Input<float> eps{"eps"};
    Output<Buffer<void, 2>> y{"y"};  // [depth, tokens]

    void configure() {
        x.set_type(storage_type(type));
        weight.set_type(type);
        y.set_type(type);
        for (int n = 0; n < 3; n++) {
            w[n].add_to(*this, "w_" + letter(n), WeightLayout::kPacked, panel, type);
        }
        w_o.add_to(*this, "w_o", WeightLayout::kPacked, panel, type);
        rotation.add_to(*this);
    }

    void generate() {
        const Expr tokens = x.dim(1).extent();
        const int width = d, queries = heads, key_values = key_heads, group = queries / key_values;
        rotation.define(*this, "attention_block", Expr(width));
        const RDom r(0, x.width(), "k");
        sum_sq(row) += load_f32(x(r, row)) * load_f32(x(r, row));
        inv_rms(row) = inverse_rms(sum_sq(row), x.width(), eps);
        normed(k, row) = load_f32(x(k, row)) * inv_rms(row) * load_f32(weight(k));
        const Func q = turned(0, queries), keys = turned(1, key_values), values = projected(2, key_values);

        const RDom rd(0, width, "element");
        scores(j, i, head) += q(rd, head, i) * keys(rd, head / group, j);
        logits(j, i, head) = select(j <= i, scores(j, i, head) * (1.0f / std::sqrt(float(width))), -std::numeric_limits<float>::max());
        const RDom rj(0, tokens, "key");
        row_max(i, head) = -std::numeric_limits<float>::max();
        row_max(i, head) = max(row_max(i, head), logits(rj, i, head));
        p(j, i, head) = exp_nonpositive_f32(logits(j, i, head) - row_max(i, head), get_target());
        row_sum(i, head) += p(rj, i, head);
        weighted(e, i, head) += p(rj, i, head) * values(e, head / group, rj);
        attended(col, row) = store_as(type, weighted(col % width, row, col / width) / row_sum(row, col / width));
        w_o.multiply(back(col, row), width * queries, col, y.dim(0).max() + 1, [&](const Expr &at) { return load_f32(attended(at, row)); });
        y(col, row) = store_as(type, back(col, row) + load_f32(x(col, row)));

        x.set_estimates({{0, 1024}, {0, 128}});
        weight.set_estimates({{0, 1024}});
        y.set_estimates({{0, 1024}, {0, 128}});
        eps.set_estimate(1e-6f);
    }

private:
    static std::string letter(int n) {
        return std::string(1, "qkv"[n]);
    }

    /** Of projection `n`, heads over [e, head, token]. */
    Func projected(int n, int count) {
        Func acc("acc_" + letter(n)), of_head("head_" + letter(n));
        const int width = d;
        w[n].multiply(acc(col, row), x.width(), col, width * count, [&](const Expr &at) { return normed(at, row); });
        of_head(e, head, row) = acc(head * width + e, row);
        return of_head;
    }

    Func turned(int n, int count) {
        const Func plain = projected(n, count);
        Func of_head("turned_" + letter(n));
        const auto at = [=](const Expr &element) { return plain(element, head, row); };
        of_head(e, head, row) = rotation.turned("_" + letter(n), e, head, row, at(e), at, at);
        return of_head;
    }

    Var col{"col"}, row{"row"}, k{"k"}, e{"e"}, head{"head"}, i{"i"}, j{"j"};
    Func sum_sq{"sum_sq"}, inv_rms{"inv_rms"}, normed{"normed"}, scores{"scores"}, logits{"logits"}, row_max{"row_max"}, p{"p"},
        row_sum{"row_sum"}, weighted{"weighted"}, attended{"attended"}, back{"back"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(AttentionBlock, attention_block)
