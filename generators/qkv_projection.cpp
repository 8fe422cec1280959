// The three projections before attention: q = x w_q + bias_q, and k and v likewise, of one x. With
// grouped queries (Ainslie et al. 2023) k and v are narrower than q.

#include <string>
#include <vector>

#include <Halide.h>

#include "math/block_rows.h"
#include "math/elements.h"
#include "math/linear.h"
#include "math/number.h"
#include "math/own_rounding.h"
#include "math/unread.h"

namespace {

using namespace Halide;
using namespace halyard;

class QkvProjection : public Generator<QkvProjection> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    GeneratorParam<WeightLayout> weights{"weights", WeightLayout::kPacked, layouts_with_blocks()};
    Number panel{"panel", 64, 1, 1024};
    BlockParams blocks;
    GeneratorParam<bool> add_bias{"add_bias", false};

    Input<Buffer<void, 2>> x{"x"};   // [depth, m]
    Linear w[3];                     // of q, k, v
    Input<Buffer<>> *bias[3] = {};   // [n_q], [n_kv], [n_kv]
    Output<Buffer<void, 2>> q{"q"};  // [n_q, m]
    Output<Buffer<void, 2>> k{"k"};  // [n_kv, m]
    Output<Buffer<void, 2>> v{"v"};  // [n_kv, m]

    void configure() {
        x.set_type(storage_type(type));
        const std::string names[] = {"q", "k", "v"};
        for (int i = 0; i < 3; i++) {
            w[i].add_to(*this, "w_" + names[i], weights, panel, blocks, rows, type, get_target());
            if (add_bias) {
                bias[i] = add_input<Buffer<>>("bias_" + names[i], type, 1);
            }
        }
        for (auto *out : {&q, &k, &v}) {
            out->set_type(type);
        }
    }

    void generate() {
        x_f(d, row) = load_f32(x(d, row_at(x, row, get_target())));
        rows.define(x_f);
        Output<Buffer<void, 2>> *outputs[] = {&q, &k, &v};
        Func *products[] = {&acc_q, &acc_k, &acc_v};
        for (int i = 0; i < 3; i++) {
            Output<Buffer<void, 2>> &out = *outputs[i];
            need_rows(*this, get_target(), "x", x.dim(1), out.dim(1));
            Func &acc = *products[i];
            const std::string name = {"qkv"[i]};
            std::vector<std::string> of_columns = w[i].inputs();
            of_columns.push_back("bias_" + name);
            read_only_if(*this, out.dim(0).extent() > 0, of_columns, Granted::kNo);
            w[i].multiply(acc(col, row), x.width(), col, row, out.dim(0).max() + 1);
            const Expr sum = acc(col, row);
            out(col, row) = store_as(type, add_bias ? own_sum(sum, load_f32((*bias[i])(col)), get_target()) : sum);
        }
    }

private:
    Var col{"col"}, row{"row"}, d{"k"};
    BlockRows rows{"x"};
    Func x_f{"x_f"}, acc_q{"acc_q"}, acc_k{"acc_k"}, acc_v{"acc_v"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(QkvProjection, qkv_projection)
