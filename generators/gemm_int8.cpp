// GEMM in 8 bits with its epilogue, as quantised networks run it:
//
//   acc[row, col] = sum over k of (a[row, k] - a_zero_point) * b[k, col]              exact, in 32 bits
//   y = activation(acc * a_scale * b_scale[col] + bias[col]) + residual[row, col]
//
// and, for an 8-bit output, y_q = saturate(round(y / y_scale) + y_zero_point). a is asymmetric with one zero
// point for all or for each row; b is symmetric (Jacob et al., Quantization and Training of Neural
// Networks, 2018, equation 7, with Z2 = 0).
// Row-major: a is m x k, b is k x n in packed panels or transposed, y is m x n, the last index innermost.

#include <Halide.h>

#include "math/activation.h"
#include "math/elements.h"
#include "math/quantize.h"
#include "math/weights.h"

namespace {

using namespace Halide;
using namespace halyard;

class GemmInt8 : public Generator<GemmInt8> {
public:
    GeneratorParam<Type> a_type{"a_type", UInt(8)};  // uint8 or int8
    /** packed, for instructions that take four neighbours along k; or nk, for those that take many. */
    GeneratorParam<WeightLayout> weights{
        "weights", WeightLayout::kPacked, {{"nk", WeightLayout::kNK}, {"packed", WeightLayout::kPacked}}};
    GeneratorParam<int> panel{"panel", 48};
    /** Of a: one scale and zero point for all, or for each row, as dynamic quantisation has them. */
    GeneratorParam<Scaling> scaling{"scaling", Scaling::kTensor, scalings()};
    /** Without one, a is symmetric. */
    GeneratorParam<bool> zero_point{"zero_point", false};
    GeneratorParam<bool> add_bias{"add_bias", false};
    GeneratorParam<Activation> activation{"activation", Activation::kNone, activations()};
    GeneratorParam<bool> add_residual{"add_residual", false};
    GeneratorParam<Type> type{"type", Float(32)};  // of y and residual: float32, float16 or bfloat16
    GeneratorParam<OutputType> output{"output", OutputType::kSame, output_types()};

    Input<Buffer<void, 2>> a{"a"};                     // [k, m]
    Input<Buffer<>> *b = nullptr;                      // b_nk [k, n] or b_packed, see WeightLayout
    Input<Buffer<float, 1>> *b_scale = nullptr;        // [n]
    Input<Buffer<int32_t, 1>> *b_sum = nullptr;        // [n]: the sum of each column of b
    Input<float> *a_scale = nullptr;
    Input<int32_t> *a_zero_point = nullptr;
    Input<Buffer<float, 1>> *a_scale_row = nullptr;    // [m]
    Input<Buffer<int32_t, 1>> *a_zero_point_row = nullptr;   // [m]
    Input<Buffer<float, 1>> *bias = nullptr;           // [n]
    Input<Buffer<>> *residual = nullptr;               // [n, m]
    Input<float> *y_scale = nullptr;
    Input<int32_t> *y_zero_point = nullptr;
    Output<Buffer<void, 2>> y{"y"};                    // [n, m]

    void configure() {
        if (a_type != UInt(8) && a_type != Int(8)) {
            throw CompileError("a_type is uint8 or int8");
        }
        a.set_type(a_type);
        y.set_type(stored_type(output, storage_type(type)));
        b = add_input<Buffer<>>(weights_name("b", weights), Int(8), weights_rank(weights));
        b_scale = add_input<Buffer<float, 1>>("b_scale");
        if (scaling == Scaling::kRow) {
            a_scale_row = add_input<Buffer<float, 1>>("a_scale_row");
        } else {
            a_scale = add_input<float>("a_scale");
        }
        if (zero_point && scaling == Scaling::kRow) {
            a_zero_point_row = add_input<Buffer<int32_t, 1>>("a_zero_point_row");
        } else if (zero_point) {
            a_zero_point = add_input<int32_t>("a_zero_point");
        }
        if (needs_b_sum()) {
            b_sum = add_input<Buffer<int32_t, 1>>("b_sum");
        }
        if (add_bias) {
            bias = add_input<Buffer<float, 1>>("bias");
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
        const int offset = takes_unsigned() && a_type == Int(8) ? 128 : 0;
        const Expr number = row_at(a, row, get_target());
        a_u(k, row) = offset == 0 ? a(k, number) : cast<uint8_t>(a(k, number)) ^ cast<uint8_t>(offset);
        const auto product = [&](const Expr &i) {
            return cast<int32_t>(a_u(i, row)) * cast<int32_t>(weight(i));
        };
        if (weights == WeightLayout::kNK) {
            accumulate(acc(col, row), 1, a.width(), product);
        } else if (get_target().has_gpu_feature()) {
            // Groups as an instruction takes them, for a schedule that copies them.
            a_groups(member, row, k) = a_u(k * kGroup + member, row);
            b_groups(member, col, k) = weight(k * kGroup + member);
            accumulate(
                acc(col, row), kGroup, a.width(),
                [&](const Expr &i) {
                    return cast<int32_t>(a_groups(i % kGroup, row, i / kGroup)) *
                           cast<int32_t>(b_groups(i % kGroup, col, i / kGroup));
                },
                product);
        } else {
            accumulate(acc(col, row), kGroup, a.width(), product);
        }
        Expr sum = acc(col, row);
        if (needs_b_sum()) {
            const Expr zero = !zero_point ? 0 : scaling == Scaling::kRow ? (*a_zero_point_row)(row) : *a_zero_point;
            sum -= (zero + offset) * (*b_sum)(col);
        }
        const Expr scale = scaling == Scaling::kRow ? (*a_scale_row)(row) : *a_scale;
        Expr v = cast<float>(sum) * (scale * (*b_scale)(col));
        if (add_bias) {
            v += (*bias)(col);
        }
        linear(col, row) = v;
        activated(col, row) = activate(activation, linear(col, row), get_target());
        v = activated(col, row);
        if (add_residual) {
            v += load_f32((*residual)(col, row));
        }
        y(col, row) = y_scale ? quantize(output, v, 1.0f / *y_scale, *y_zero_point)
                              : store_as(stored_type(output, type), v);
        constrain_weights(*b, weights, panel, a.width());
    }

private:
    static constexpr int kGroup = 4;

    // On a GPU columns beyond the last are read as the last one, so that a schedule may round them up beyond a panel.
    Expr weight(const Expr &i) {
        const Expr last = y.dim(0).max(), real = get_target().has_gpu_feature() ? min(col, last) : Expr(col);
        return weight_at(*b, weights, panel, i, real, last + 1);
    }

    // Instructions for packed weights multiply unsigned with signed: a signed a is taken 128 higher.
    bool takes_unsigned() const {
        return weights == WeightLayout::kPacked;
    }

    bool needs_b_sum() const {
        return zero_point || (takes_unsigned() && a_type == Int(8));
    }

    Var col{"col"}, row{"row"}, k{"k"}, member{"member"};
    Func a_u{"a_u"}, a_groups{"a_groups"}, b_groups{"b_groups"}, acc{"acc"}, linear{"linear"}, activated{"activated"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(GemmInt8, gemm_int8)
