// The feed-forward block of a transformer as its equations stand in papers, of the headers in generators/math: a norm, two products, the
// gate, the product back and the residual. Where anything of it is stored, and what shares a loop, is nobody's decision yet.
//
//   n = x / rms(x) * weight      h = silu(n w_gate) * (n w_up)      y = h w_down + x

#include <Halide.h>

#include "math/activation.h"
#include "math/elements.h"
#include "math/linear.h"
#include "math/number.h"
#include "math/rms.h"

namespace {

using namespace Halide;
using namespace halyard;

class FeedForwardBlock : public Generator<FeedForwardBlock> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    Number panel{"panel", 48, 1, 1024};            // columns of a packed panel of weights

    Input<Buffer<void, 2>> x{"x"};  // [depth, rows]
    Input<Buffer<void, 1>> weight{"weight"};
    Linear w_gate, w_up, w_down;  // depth x hidden, and back
    Input<float> eps{"eps"};
    Input<int32_t> hidden{"hidden"};  // which the padding of packed weights hides
    Output<Buffer<void, 2>> y{"y"};   // [depth, rows]

    void configure() {
        x.set_type(storage_type(type));
        weight.set_type(type);
        y.set_type(type);
        w_gate.add_to(*this, "w_gate", WeightLayout::kPacked, panel, type);
        w_up.add_to(*this, "w_up", WeightLayout::kPacked, panel, type);
        w_down.add_to(*this, "w_down", WeightLayout::kPacked, panel, type);
    }

    void generate() {
        const RDom r(0, x.width(), "k");
        sum_sq(row) += load_f32(x(r, row)) * load_f32(x(r, row));
        inv_rms(row) = inverse_rms(sum_sq(row), x.width(), eps);
        normed(k, row) = load_f32(x(k, row)) * inv_rms(row) * load_f32(weight(k));
        const auto normed_at = [&](const Expr &at) { return normed(at, row); };
        w_gate.multiply(gate(col, row), x.width(), col, Expr(hidden), normed_at);
        w_up.multiply(up(col, row), x.width(), col, Expr(hidden), normed_at);
        h(col, row) = store_as(type, activate(Activation::kSilu, gate(col, row), get_target(), type) * up(col, row));
        w_down.multiply(down(col, row), max(hidden, 0), col, y.dim(0).max() + 1, [&](const Expr &at) { return load_f32(h(at, row)); });
        y(col, row) = store_as(type, down(col, row) + load_f32(x(col, row)));

        x.set_estimates({{0, 1024}, {0, 128}});
        weight.set_estimates({{0, 1024}});
        y.set_estimates({{0, 1024}, {0, 128}});
        eps.set_estimate(1e-6f);
        hidden.set_estimate(2736);
    }

private:
    Var col{"col"}, row{"row"}, k{"k"};
    Func sum_sq{"sum_sq"}, inv_rms{"inv_rms"}, normed{"normed"}, gate{"gate"}, up{"up"}, h{"h"}, down{"down"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(FeedForwardBlock, feed_forward_block)
