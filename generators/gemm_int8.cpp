// GEMM in 8 bits with its epilogue, as quantised networks run it:
//
//   acc[row, col] = sum over k of (a[row, k] - zero_a) * b[k, col]              exact, in 32 bits
//   y = activation(acc * scale_a * scale_b[col] + bias[col]) + residual[row, col]
//
// and, for an 8-bit output, y_q = saturate(round(y / scale_y) + zero_y). a is asymmetric with one zero
// point for all or for each row; b is symmetric (Jacob et al., Quantization and Training of Neural
// Networks, 2018, equation 7, with Z2 = 0).
// Row-major: a is m x k, b is k x n in packed panels, y is m x n, the last index innermost.

#include <Halide.h>

#include "math/activation.h"
#include "math/elements.h"
#include "math/quantize.h"
#include "math/weights.h"

namespace {

using namespace Halide;
using namespace halyard;

/** One value for all of a, or one a row: dynamic quantisation of tokens. */
enum class Granularity { kTensor, kRow };

class GemmInt8 : public Generator<GemmInt8> {
public:
    GeneratorParam<Type> a_type{"a_type", UInt(8)};  // uint8 or int8
    GeneratorParam<int> panel{"panel", 48};
    GeneratorParam<Granularity> scaling{
        "scaling", Granularity::kTensor, {{"tensor", Granularity::kTensor}, {"row", Granularity::kRow}}};
    /** Without one, a is symmetric. */
    GeneratorParam<bool> zero_point{"zero_point", false};
    GeneratorParam<bool> add_bias{"add_bias", false};
    GeneratorParam<Activation> activation{"activation", Activation::kNone, activations()};
    GeneratorParam<bool> add_residual{"add_residual", false};
    GeneratorParam<Type> type{"type", Float(32)};  // of y and residual: float32, float16 or bfloat16
    GeneratorParam<OutputType> output{"output", OutputType::kSame, output_types()};

    Input<Buffer<void, 2>> a{"a"};                  // [k, m]
    Input<Buffer<int8_t, 4>> b_packed{"b_packed"};  // [4, panel, ceil(k / 4), ceil(n / panel)]
    Input<Buffer<float, 1>> scale_b{"scale_b"};     // [n]
    Input<Buffer<int32_t, 1>> *b_sum = nullptr;     // [n]: the sum of each column of b
    Input<float> *scale_a = nullptr;
    Input<int32_t> *zero_a = nullptr;
    Input<Buffer<float, 1>> *scale_a_row = nullptr;    // [m]
    Input<Buffer<int32_t, 1>> *zero_a_row = nullptr;   // [m]
    Input<Buffer<float, 1>> *bias = nullptr;           // [n]
    Input<Buffer<>> *residual = nullptr;               // [n, m]
    Input<float> *scale_y = nullptr;
    Input<int32_t> *zero_y = nullptr;
    Output<Buffer<void, 2>> y{"y"};                    // [n, m]

    void configure() {
        if (a_type != UInt(8) && a_type != Int(8)) {
            throw CompileError("a_type is uint8 or int8");
        }
        a.set_type(a_type);
        y.set_type(stored_type(output, storage_type(type)));
        if (scaling == Granularity::kRow) {
            scale_a_row = add_input<Buffer<float, 1>>("scale_a_row");
        } else {
            scale_a = add_input<float>("scale_a");
        }
        if (zero_point && scaling == Granularity::kRow) {
            zero_a_row = add_input<Buffer<int32_t, 1>>("zero_a_row");
        } else if (zero_point) {
            zero_a = add_input<int32_t>("zero_a");
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
        if (output != OutputType::kSame) {
            scale_y = add_input<float>("scale_y");
            zero_y = add_input<int32_t>("zero_y");
        }
    }

    void generate() {
        // The instructions multiply unsigned with signed: a signed a is taken 128 higher.
        const int offset = a_type == Int(8) ? 128 : 0;
        a_u(k, row) = offset == 0 ? a(k, row) : cast<uint8_t>(a(k, row)) ^ cast<uint8_t>(offset);
        accumulate(acc(col, row), kGroup, a.width(), [&](const Expr &i) {
            return cast<int32_t>(a_u(i, row)) *
                   cast<int32_t>(weight_at(b_packed, WeightLayout::kPacked, panel, i, col, y.dim(0).max() + 1));
        });
        Expr sum = acc(col, row);
        if (needs_b_sum()) {
            const Expr zero = !zero_point ? 0 : scaling == Granularity::kRow ? (*zero_a_row)(row) : *zero_a;
            sum -= (zero + offset) * (*b_sum)(col);
        }
        const Expr scale = scaling == Granularity::kRow ? (*scale_a_row)(row) : *scale_a;
        Expr v = cast<float>(sum) * (scale * scale_b(col));
        if (add_bias) {
            v += (*bias)(col);
        }
        linear(col, row) = v;
        activated(col, row) = activate(activation, linear(col, row));
        v = activated(col, row);
        if (add_residual) {
            v += load_f32((*residual)(col, row));
        }
        y(col, row) = output == OutputType::kSame ? store_as(type, v)
                                                  : quantize(output, v, 1.0f / *scale_y, *zero_y);
        constrain_weights(b_packed, WeightLayout::kPacked, panel, a.width());
    }

private:
    static constexpr int kGroup = 4;

    bool needs_b_sum() const {
        return zero_point || a_type == Int(8);
    }

    Var col{"col"}, row{"row"}, k{"k"};
    Func a_u{"a_u"}, acc{"acc"}, linear{"linear"}, activated{"activated"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(GemmInt8, gemm_int8)
