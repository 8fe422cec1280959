// The three projections before attention in 8 bits: q = x w_q + bias_q, and k and v likewise, of one 8-bit x, taken to
// f32 as math/linear_int8.h says. Outputs of 8 bits, as a quantised cache has them, are
// saturate(round(q / q_scale) + q_zero_point), and k and v likewise.

#include <Halide.h>

#include "math/elements.h"
#include "math/linear_int8.h"
#include "math/number.h"
#include "math/own_rounding.h"
#include "math/unread.h"

namespace {

using namespace Halide;
using namespace halyard;

class QkvProjectionInt8 : public Generator<QkvProjectionInt8> {
public:
    GeneratorParam<Type> x_type{"x_type", UInt(8)};  // uint8 or int8
    GeneratorParam<WeightLayout> weights{"weights", WeightLayout::kPacked, linear_layouts()};
    Number panel{"panel", 48, 1, 1024};
    /** Of x: one scale and zero point for all, or for each row, as dynamic quantisation has them. */
    GeneratorParam<Scaling> scaling{"scaling", Scaling::kTensor, scalings()};
    /** Without one, x is symmetric. */
    GeneratorParam<bool> zero_point{"zero_point", false};
    GeneratorParam<bool> add_bias{"add_bias", false};
    GeneratorParam<Type> type{"type", Float(32)};  // of q, k and v: float32, float16 or bfloat16
    GeneratorParam<OutputType> output{"output", OutputType::kSame, output_types()};

    Input<Buffer<void, 2>> x{"x"};          // [depth, m]
    RowsInt8 rows;                          // x_scale and x_zero_point
    LinearInt8 w[3];                        // of q, k, v
    Input<Buffer<float, 1>> *bias[3] = {};  // [n_q], [n_kv], [n_kv]
    Stored stored[3];
    Output<Buffer<void, 2>> q{"q"};  // [n_q, m]
    Output<Buffer<void, 2>> k{"k"};  // [n_kv, m]
    Output<Buffer<void, 2>> v{"v"};  // [n_kv, m]

    void configure() {
        x.set_type(x_type);
        rows.add_to(*this, "x", x_type, weights, scaling, zero_point);
        const std::string names[] = {"q", "k", "v"};
        for (int i = 0; i < 3; i++) {
            w[i].add_to(*this, "w_" + names[i], weights, panel, rows.have_zero(), get_target());
            if (add_bias) {
                bias[i] = add_input<Buffer<float, 1>>("bias_" + names[i]);
            }
            stored[i].add_to(*this, names[i], output, type);
        }
        for (auto *out : {&q, &k, &v}) {
            out->set_type(stored_type(output, storage_type(type)));
        }
    }

    void generate() {
        x_u(d, row) = rows.element(x(d, row_at(x, row, get_target())));
        Output<Buffer<void, 2>> *outputs[] = {&q, &k, &v};
        Func *products[] = {&acc_q, &acc_k, &acc_v};
        for (int i = 0; i < 3; i++) {
            need_rows(*this, get_target(), "x", x.dim(1), outputs[i]->dim(1));
            Output<Buffer<void, 2>> &out = *outputs[i];
            Func &acc = *products[i];
            const std::string weight = std::string("w_") + "qkv"[i];
            read_only_if(*this, out.dim(0).extent() > 0,
                         {weight + "_nk", weight + "_packed", weight + "_scale", weight + "_sum", std::string("bias_") + "qkv"[i]},
                         Granted::kNo);
            w[i].multiply(acc(col, row), x.width(), col, out.dim(0).max() + 1, [&](const Expr &depth) { return x_u(depth, row); });
            const Expr sum = w[i].dequantize(acc(col, row), col, rows.scale(row), rows.zero(row));
            out(col, row) = stored[i](add_bias ? own_sum(sum, (*bias[i])(col), get_target()) : sum, get_target());
        }
    }

private:
    Var col{"col"}, row{"row"}, d{"k"};
    Func x_u{"x_u"}, acc_q{"acc_q"}, acc_k{"acc_k"}, acc_v{"acc_v"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(QkvProjectionInt8, qkv_projection_int8)
