// GEMM with an epilogue: y = activation(scale * (a b) + bias) + residual, or the same steps in another order.
// Row-major: a is m x k, b is k x n, y is m x n, the last index innermost.

#include <Halide.h>

#include "math/activation.h"
#include "math/elements.h"
#include "math/epilogue.h"
#include "math/number.h"
#include "math/quantize.h"
#include "math/weights.h"

namespace {

using namespace Halide;
using namespace halyard;

enum class Scale { kNone, kScalar, kColumn, kRow };

class Gemm : public Generator<Gemm> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    GeneratorParam<bool> tf32{"tf32", false};      // float32 is multiplied as TF32, and summed as float32
    GeneratorParam<WeightLayout> weights{"weights", WeightLayout::kKN, weight_layouts()};
    Number panel{"panel", 64, 1, 1024};
    GeneratorParam<bool> in_panels{"in_panels", false};  // what a schedule copies of weights=kn lies in panels, not only in groups
    GeneratorParam<Scale> scaling{
        "scaling", Scale::kNone, {{"none", Scale::kNone}, {"scalar", Scale::kScalar}, {"column", Scale::kColumn}, {"row", Scale::kRow}}};
    GeneratorParam<bool> add_bias{"add_bias", false};
    GeneratorParam<Activation> activation{"activation", Activation::kNone, activations()};
    GeneratorParam<bool> add_residual{"add_residual", false};
    /** Of the epilogue's steps, as "residual,activation,scale,bias"; storing, and quantising, is last. */
    GeneratorParam<std::string> order{"order", "scale,bias,activation,residual"};
    GeneratorParam<OutputType> output{"output", OutputType::kSame, output_types()};

    Input<Buffer<void, 2>> a{"a"};      // [k, m]
    Input<Buffer<>> *b = nullptr;       // b [n, k], b_nk [k, n] or b_packed, see WeightLayout
    Input<Buffer<>> *scales = nullptr;  // scale_column [n] or scale_row [m]
    Input<float> *scale = nullptr;
    Input<Buffer<>> *bias = nullptr;      // bias [n]
    Input<Buffer<>> *residual = nullptr;  // residual [n, m]
    Input<float> *y_scale = nullptr;      // of an 8-bit output
    Input<int32_t> *y_zero_point = nullptr;
    Output<Buffer<void, 2>> y{"y"};  // [n, m]

    void configure() {
        a.set_type(storage_type(type));
        if (tf32 && type != Float(32)) {
            throw CompileError("tf32 is how float32 is multiplied: with tf32=true, type has to be float32");
        }
        y.set_type(stored_type(output, type));
        b = add_input<Buffer<>>(weights_name("b", weights), type, weights_rank(weights));
        if (scaling == Scale::kColumn || scaling == Scale::kRow) {
            scales = add_input<Buffer<>>(scaling == Scale::kColumn ? "scale_column" : "scale_row", Float(32), 1);
        } else if (scaling == Scale::kScalar) {
            scale = add_input<float>("scale");
        }
        if (add_bias) {
            bias = add_input<Buffer<>>("bias", type, 1);
        }
        if (add_residual) {
            residual = add_input<Buffer<>>("residual", type, 2);
        }
        if (is_quantized(output)) {
            y_scale = add_input<float>("y_scale");
            y_zero_point = add_input<int32_t>("y_zero_point");
        }
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
        const auto times_scale = [&](const Expr &v) {
            return scales ? v * (*scales)(scaling == Scale::kColumn ? col : row) : scale ? v * *scale : v;
        };
        const auto plus_bias = [&](const Expr &v) { return bias ? v + load_f32((*bias)(col)) : v; };
        const auto activate_it = [&](const Expr &v) -> Expr {
            linear(col, row) = v;
            activated(col, row) = activate(activation, linear(col, row), get_target(), stored_type(output, type));
            return activated(col, row);
        };
        const auto plus_residual = [&](const Expr &v) { return residual ? v + load_f32((*residual)(col, row)) : v; };
        const Expr v = in_order(order, acc(col, row),
                                {{"scale", times_scale}, {"bias", plus_bias}, {"activation", activate_it}, {"residual", plus_residual}});
        y(col, row) = y_scale ? quantize(output, v, 1.0f / *y_scale, *y_zero_point) : store_as(stored_type(output, type), v);
        constrain_weights(*b, weights, panel, a.width());
    }

private:
    Var col{"col"}, row{"row"}, k{"k"}, member{"member"}, p{"p"};
    Func a_f{"a_f"}, a_tf32{"a_tf32"}, b_groups{"b_groups"}, b_f{"b_f"}, acc{"acc"}, linear{"linear"}, activated{"activated"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Gemm, gemm)
