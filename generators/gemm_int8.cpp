// GEMM in 8 bits with its epilogue, as quantised networks run it:
//
//   acc[row, col] = sum over k of (a[row, k] - a_zero_point) * b[k, col]              exact, in 32 bits
//   y = activation(acc * a_scale * b_scale[col] + bias[col]) + residual[row, col]
//
// or the same steps in another order, and, for an 8-bit output, y_q = saturate(round(y / y_scale) + y_zero_point). a and b are as math/linear_int8.h has
// rows and weights.
// Row-major: a is m x k, b is k x n in packed panels or transposed, y is m x n, the last index innermost.

#include <Halide.h>

#include "math/activation.h"
#include "math/elements.h"
#include "math/epilogue.h"
#include "math/linear_int8.h"
#include "math/number.h"
#include "math/own_rounding.h"

namespace {

using namespace Halide;
using namespace halyard;

class GemmInt8 : public Generator<GemmInt8> {
public:
    GeneratorParam<Type> a_type{"a_type", UInt(8)};  // uint8 or int8
    GeneratorParam<WeightLayout> weights{"weights", WeightLayout::kPacked, linear_layouts()};
    Number panel{"panel", 48, 1, 1024};
    /** Of a: one scale and zero point for all, or for each row, as dynamic quantisation has them. */
    GeneratorParam<Scaling> scaling{"scaling", Scaling::kTensor, scalings()};
    /** Without one, a is symmetric. */
    GeneratorParam<bool> zero_point{"zero_point", false};
    GeneratorParam<bool> add_bias{"add_bias", false};
    GeneratorParam<Activation> activation{"activation", Activation::kNone, activations()};
    GeneratorParam<bool> add_residual{"add_residual", false};
    GeneratorParam<OutputType> residual_type{"residual_type", OutputType::kSame, added_types()};
    /** Of the epilogue's steps; a bias before dequantize is in units of acc. Storing, and quantising, is last. */
    GeneratorParam<std::string> order{"order", "dequantize,bias,activation,residual"};
    GeneratorParam<Type> type{"type", Float(32)};  // of y and residual: float32, float16 or bfloat16
    GeneratorParam<OutputType> output{"output", OutputType::kSame, output_types()};

    Input<Buffer<void, 2>> a{"a"};            // [k, m]
    RowsInt8 rows;                            // a_scale and a_zero_point
    LinearInt8 b;                             // k x n
    Input<Buffer<float, 1>> *bias = nullptr;  // [n]
    Added residual;                           // [n, m]
    Stored stored;
    Output<Buffer<void, 2>> y{"y"};  // [n, m]

    void configure() {
        a.set_type(a_type);
        y.set_type(stored_type(output, storage_type(type)));
        rows.add_to(*this, "a", a_type, weights, scaling, zero_point);
        b.add_to(*this, "b", weights, panel, rows.have_zero(), get_target());
        if (add_bias) {
            bias = add_input<Buffer<float, 1>>("bias");
        }
        if (add_residual) {
            residual.add_to(*this, "residual", residual_type, type, 2);
        }
        stored.add_to(*this, "y", output, type);
    }

    void generate() {
        need_rows(*this, get_target(), "a", a.dim(1), y.dim(1));
        a_u(k, row) = rows.element(a(k, row_at(a, row, get_target())));
        const Expr columns = y.dim(0).max() + 1;
        if (weights == WeightLayout::kPacked && get_target().has_gpu_feature()) {
            // Groups as an instruction takes them, for a schedule that copies them.
            a_groups(member, row, k) = a_u(k * kGroup + member, row);
            b_groups(member, col, k) = b.at(k * kGroup + member, col, columns);
            accumulate(
                acc(col, row), kGroup, a.width(),
                [&](const Expr &i) {
                    return cast<int32_t>(a_groups(i % kGroup, row, i / kGroup)) * cast<int32_t>(b_groups(i % kGroup, col, i / kGroup));
                },
                [&](const Expr &i) { return cast<int32_t>(a_u(i, row)) * cast<int32_t>(b.at(i, col, columns)); });
            b.constrain(a.width());
        } else {
            b.multiply(acc(col, row), a.width(), col, columns, [&](const Expr &i) { return a_u(i, row); });
        }
        const auto dequantize = [&](const Expr &v) { return b.scaled(v, col, rows.scale(row)); };
        const auto plus_bias = [&](const Expr &v) { return bias ? own_sum(v, (*bias)(col), get_target()) : v; };
        const auto activate_it = [&](const Expr &v) -> Expr {
            linear(col, row) = v;
            activated(col, row) = activate(activation, linear(col, row), get_target());
            return activated(col, row);
        };
        const auto plus_residual = [&](const Expr &v) { return residual ? own_sum(v, residual.at({col, row}), get_target()) : v; };
        const Expr v =
            in_order(order, b.centred(acc(col, row), col, rows.zero(row)),
                     {{"dequantize", dequantize}, {"bias", plus_bias}, {"activation", activate_it}, {"residual", plus_residual}});
        y(col, row) = stored(v, get_target());
    }

private:
    static constexpr int kGroup = LinearInt8::kGroup;

    Var col{"col"}, row{"row"}, k{"k"}, member{"member"};
    Func a_u{"a_u"}, a_groups{"a_groups"}, b_groups{"b_groups"}, acc{"acc"}, linear{"linear"}, activated{"activated"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(GemmInt8, gemm_int8)
