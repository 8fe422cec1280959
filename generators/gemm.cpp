// GEMM with an epilogue: y = activation(scale * (a b) + bias) + residual, or the same steps in another order.
// Row-major: a is m x k, b is k x n, y is m x n, the last index innermost.

#include <Halide.h>

#include "math/elements.h"
#include "math/number.h"
#include "math/product_epilogue.h"
#include "math/weights.h"

namespace {

using namespace Halide;
using namespace halyard;

class Gemm : public Generator<Gemm> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    GeneratorParam<bool> tf32{"tf32", false};      // float32 is multiplied as TF32, and summed as float32
    GeneratorParam<WeightLayout> weights{"weights", WeightLayout::kKN, weight_layouts()};
    Number panel{"panel", 64, 1, 1024};
    GeneratorParam<bool> in_panels{"in_panels", false};  // what a schedule copies of weights=kn lies in panels, not only in groups
    ProductEpilogue epilogue;

    Input<Buffer<void, 2>> a{"a"};   // [k, m]
    Input<Buffer<>> *b = nullptr;    // b [n, k], b_nk [k, n] or b_packed, see WeightLayout
    Output<Buffer<void, 2>> y{"y"};  // [n, m]

    void configure() {
        a.set_type(storage_type(type));
        if (tf32 && type != Float(32)) {
            throw CompileError("tf32 is how float32 is multiplied: with tf32=true, type has to be float32");
        }
        y.set_type(epilogue.stored_type(type));
        b = add_input<Buffer<>>(weights_name("b", weights), type, weights_rank(weights));
        epilogue.add_to(*this, type);
    }

    void generate() {
        // A GPU's TMA takes k x n apart itself.
        const bool on_gpu = get_target().has_gpu_feature();
        const bool grouped = weights == WeightLayout::kPacked || (weights == WeightLayout::kKN && !on_gpu);
        const int group = grouped ? packed_group(type) : 1;
        const auto weight_of = [&](const Expr &i, const Expr &column) {
            return weight_at(*b, weights, panel, i, column, y.dim(0).max() + 1);
        };
        const auto weight = [&](const Expr &i) { return weight_of(i, col); };
        // Behind a_f and b_f, which schedules copy.
        const auto factor = [&](const Expr &f32) { return tf32 ? cut_to_tf32(f32) : f32; };
        need_rows(*this, get_target(), "a", a.dim(1), y.dim(1));
        a_f(k, row) = load_f32(a(k, row_at(a, row, get_target())));
        if (tf32 && !on_gpu) {
            a_tf32(k, row) = factor(a_f(k, row));  // by its name a schedule knows that its tiles have no such product
        }
        const auto of_a = [&](const Expr &i) { return a_tf32.defined() ? Expr(a_tf32(i, row)) : factor(a_f(i, row)); };
        if (weights == WeightLayout::kKN && grouped) {
            // As packed weights lie, for a schedule that copies them.
            if (in_panels) {
                const int columns = panel;
                b_groups(member, col, k, p) = weight_of(k * group + member, p * columns + col);
                b_f(col, k) = load_f32(b_groups(k % group, col % columns, k / group, col / columns));
            } else {
                b_groups(member, col, k) = weight(k * group + member);
                b_f(col, k) = load_f32(b_groups(k % group, col, k / group));
            }
        } else {
            b_f(col, k) = load_f32(weight(k));
        }
        accumulate(
            acc(col, row), group, a.width(), [&](const Expr &i) { return of_a(i) * factor(b_f(col, i)); },
            [&](const Expr &i) { return of_a(i) * factor(load_f32(weight(i))); });
        y(col, row) = epilogue(acc(col, row), col, row, get_target());
        constrain_weights(*b, weights, panel, a.width());
    }

private:
    Var col{"col"}, row{"row"}, k{"k"}, member{"member"}, p{"p"};
    Func a_f{"a_f"}, a_tf32{"a_tf32"}, b_groups{"b_groups"}, b_f{"b_f"}, acc{"acc"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Gemm, gemm)
