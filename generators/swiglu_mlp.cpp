// The feed-forward block of a transformer of today: RMSNorm, SwiGLU, the product back, and the residual:
// h = activation(x' w_gate) * (x' w_up), y = h w_down + residual, where x' = x / rms(x) * weight.
// The factor 1 / rms is applied to the sums, as in rms_norm_gemm.cpp.

#include <string>
#include <vector>

#include <Halide.h>

#include "math/activation.h"
#include "math/block_rows.h"
#include "math/elements.h"
#include "math/linear.h"
#include "math/number.h"
#include "math/own_rounding.h"
#include "math/rms.h"
#include "math/unread.h"

namespace {

using namespace Halide;
using namespace halyard;

class SwigluMlp : public Generator<SwigluMlp> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    /** Of h where it meets weights of bf16, on the host; else h is of the storage type. */
    GeneratorParam<FactorType> h_type{"h_type", FactorType::kExact, factor_types()};
    GeneratorParam<WeightLayout> weights{"weights", WeightLayout::kPacked, layouts_with_blocks()};
    Number panel{"panel", 48, 1, 1024};
    BlockParams blocks;
    GeneratorParam<bool> folded{"folded", true};  // the norm's weight is in w_gate and w_up
    GeneratorParam<bool> add_residual{"add_residual", true};
    GeneratorParam<Activation> activation{"activation", Activation::kSilu, activations()};

    Input<Buffer<void, 2>> x{"x"};           // [k, m]
    Input<Buffer<>> *norm_weight = nullptr;  // weight [k]
    Linear w_gate, w_up;                     // k x hidden
    Linear w_down;                           // hidden x n
    Input<Buffer<>> *residual = nullptr;     // [n, m]
    Input<float> eps{"eps"};
    Input<int32_t> hidden{"hidden"};  // which the padding of packed weights hides
    Output<Buffer<void, 2>> y{"y"};   // [n, m]

    void configure() {
        x.set_type(storage_type(type));
        y.set_type(type);
        if (!folded) {
            norm_weight = add_input<Buffer<>>("weight", type, 1);
        }
        w_gate.add_to(*this, "w_gate", weights, panel, blocks, rows, type, get_target());
        w_up.add_to(*this, "w_up", weights, panel, blocks, rows, type, get_target());
        w_down.add_to(*this, "w_down", weights, panel, blocks, hidden_rows, type, get_target());
        if (h_type == FactorType::kTwoBF16 && weights == WeightLayout::kBlocks) {
            throw CompileError("h_type=two_bf16 is for weights of bf16: take exact or bf16 for weights in blocks");
        }
        if (add_residual) {
            residual = add_input<Buffer<>>("residual", type, 2);
        }
    }

    void generate() {
        std::vector<std::string> of_hidden = w_gate.inputs();
        of_hidden.insert(of_hidden.end(), w_up.inputs().begin(), w_up.inputs().end());
        read_only_if(*this, hidden > 0, of_hidden, Granted::kNo);
        RDom r(0, x.width(), "k");
        sum_sq(row) += load_f32(x(r, row)) * load_f32(x(r, row));
        inv_rms(row) = inverse_rms(sum_sq(row), x.width(), eps);
        need_rows(*this, get_target(), "x", x.dim(1), y.dim(1));
        const Expr v = load_f32(x(k, row_at(x, row, get_target())));
        weighted(k, row) = folded ? v : own_product(v, load_f32((*norm_weight)(k)), get_target());
        rows.define(weighted);
        rows.add_inputs({"weight"});
        w_gate.multiply(gate(col, row), x.width(), col, row, Expr(hidden));
        w_up.multiply(up(col, row), x.width(), col, row, Expr(hidden));
        const auto normalised = [&](const Func &sum) { return own_product(sum(col, row), inv_rms(row), get_target()); };
        activated(col, row) = activate(activation, normalised(gate), get_target(), type);
        const Expr product = own_product(activated(col, row), normalised(up), get_target());

        // The maximum tells Halide that h starts at 0. Otherwise a column's place in its panel would not be known, and packed
        // weights would be gathered, which is many times slower.
        const Expr depth = max(hidden, 0), columns = y.dim(0).max() + 1;
        const Target target = get_target();
        const bool of_bf16 = type == BFloat(16) && !target.has_gpu_feature();
        const bool exact = of_bf16 && h_type == FactorType::kExact;
        const bool tiles = target.has_feature(Target::AVX512_SapphireRapids) && weights != WeightLayout::kBlocks;
        if (of_bf16 && (h_type == FactorType::kTwoBF16 || (exact && tiles))) {
            h(col, row) = product;
            h_parts(part, col, row) = part_in_bf16(h(col, row), part, false);
            w_down.multiply_parts(acc(col, row), depth, 2, col, columns,
                                  [&](const Expr &d, const Expr &of) { return load_f32(h_parts(of, d, row)); });
        } else {
            h(col, row) = store_as(exact ? Float(32) : Type(type), product);
            h_f(k, row) = load_f32(h(k, row));
            hidden_rows.define(h_f);
            w_down.multiply(acc(col, row), depth, col, row, columns);
        }
        const Expr sum = acc(col, row);
        y(col, row) = store_as(type, add_residual ? own_sum(sum, load_f32((*residual)(col, row)), get_target()) : sum);
    }

private:
    Var col{"col"}, row{"row"}, k{"k"}, part{"half"};
    BlockRows rows{"x", Granted::kNo}, hidden_rows{"h", Granted::kNo};
    Func sum_sq{"sum_sq"}, inv_rms{"inv_rms"}, weighted{"weighted"}, gate{"gate"}, up{"up"}, activated{"activated"}, h{"h"},
        h_parts{"h_parts"}, h_f{"h_f"}, acc{"acc"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(SwigluMlp, swiglu_mlp)
