// GEMM of numbers of 8 bits with its epilogue, as networks in fp8 run it (Micikevicius et al. 2022; blocks: DeepSeek-V3, 2024, 3.3):
//
//   y = activation(sum over k of a_scale a[row, k] * b_scale b[k, col] + bias[col]) + residual[row, col]
//
// or the steps of the epilogue in another order. Scales, of f32, are one for all of a and of b; or one for each row of a and each column
// of b; or one for each 128 of k of a row of a, and for each 128 of k and 128 columns of b. Products are exact, and sums f32.
// a is m x k, b transposed, n x k, as torch.nn.Linear has it, y is m x n, the last index innermost.

#include <Halide.h>

#include "math/activation.h"
#include "math/elements.h"
#include "math/epilogue.h"
#include "math/float8.h"
#include "math/own_rounding.h"
#include "math/quantize.h"
#include "math/unread.h"
#include "math/weights.h"

namespace {

using namespace Halide;
using namespace halyard;

enum class Scales { kTensor, kRow, kBlock };

class GemmFp8 : public Generator<GemmFp8> {
public:
    GeneratorParam<Float8> a_type{"a_type", Float8::kE4M3, float8_types()};  // float8_e4m3 or float8_e5m2; bytes to Halide
    GeneratorParam<Float8> b_type{"b_type", Float8::kE4M3, float8_types()};
    GeneratorParam<Scales> scaling{
        "scaling", Scales::kTensor, {{"tensor", Scales::kTensor}, {"row", Scales::kRow}, {"block", Scales::kBlock}}};
    GeneratorParam<bool> add_bias{"add_bias", false};
    GeneratorParam<Activation> activation{"activation", Activation::kNone, activations()};
    GeneratorParam<bool> add_residual{"add_residual", false};
    /** Of the epilogue's steps; storing, and quantising, is last. With scaling=block the sums are scaled already. */
    GeneratorParam<std::string> order{"order", "dequantize,bias,activation,residual"};
    GeneratorParam<Type> type{"type", Float(32)};  // of y, bias and residual: float32, float16 or bfloat16
    GeneratorParam<OutputType> output{"output", OutputType::kSame, output_types()};

    Input<Buffer<uint8_t, 2>> a{"a"};        // [k, m]
    Input<Buffer<uint8_t, 2>> b_nk{"b_nk"};  // [k, n]
    // tensor: a_scale and b_scale, numbers; row: a_scale_row [m], b_scale_column [n];
    // block: a_scale_block [ceil(k / 128), m], b_scale_block [ceil(k / 128), ceil(n / 128)], of any strides
    Input<Buffer<>> *bias = nullptr;      // [n]
    Input<Buffer<>> *residual = nullptr;  // [n, m]
    Stored stored;
    Output<Buffer<void, 2>> y{"y"};  // [n, m]

    void configure() {
        y.set_type(stored_type(output, storage_type(type)));
        const auto add_scales = [&](const std::string &name, const char *lines, GeneratorInput<float> *&one,
                                    GeneratorInput<Buffer<>> *&many) {
            if (scaling == Scales::kTensor) {
                one = add_input<float>(name);
            } else if (scaling == Scales::kRow) {
                many = add_input<Buffer<>>(name + lines, Float(32), 1);
            } else {
                many = add_input<Buffer<>>(name + "_block", Float(32), 2);
            }
        };
        add_scales("a_scale", "_row", a_scale_, a_scales_);
        add_scales("b_scale", "_column", b_scale_, b_scales_);
        if (add_bias) {
            bias = add_input<Buffer<>>("bias", type, 1);
        }
        if (add_residual) {
            residual = add_input<Buffer<>>("residual", type, 2);
        }
        stored.add_to(*this, "y", output, type);
    }

    void generate() {
        const Target target = get_target();
        const Expr depth = a.width(), columns = y.dim(0).max() + 1;
        need_rows(*this, target, "a", a.dim(1), y.dim(1));
        // The last block of k may end behind a and b, with zeros, and a schedule may compute some before the first.
        const bool blocks = scaling == Scales::kBlock;
        const auto inside = [&](const Expr &end) {
            const Expr last = max(end - 1, 0);
            return blocks ? unsafe_promise_clamped(clamp(k, 0, last), 0, last) : Expr(k);
        };
        const auto or_zero = [&](const Expr &byte, const Expr &end) { return blocks ? select(k < end, byte, Expr(uint8_t(0))) : byte; };
        const Expr end = b_nk.dim(0).extent();
        a_f(k, row) = f32_of_float8(a_type, or_zero(a(inside(depth), row_at(a, row, target)), depth));
        b_f(col, k) = f32_of_float8(b_type, or_zero(weight_at(b_nk, WeightLayout::kNK, 0, inside(end), col, columns), end));
        if (blocks) {
            add_requirement(end == depth, "b_nk has as many elements in dimension 0 as a");
            read_only_if(*this, depth > 0, {"a", "b_nk"}, Granted::kNo);
            const Expr all = (depth + (kScaleBlock - 1)) / kScaleBlock;
            const RDom r(0, kScaleBlock, "k"), s(0, all, "block");
            of_block(col, row, block) += a_f(block * kScaleBlock + r, row) * b_f(col, block * kScaleBlock + r);
            acc(col, row) = 0.0f;
            const Expr of_columns = min(col / kScaleBlock, b_scales_->dim(1).extent() - 1);
            acc(col, row) += of_block(col, row, s) * ((*a_scales_)(s, row_at(a, row, target)) * (*b_scales_)(s, of_columns));
            y.dim(0).set_min(0);  // so that a tile of columns is in one block
            b_scales_->dim(1).set_bounds(0, (b_nk.dim(1).extent() + (kScaleBlock - 1)) / kScaleBlock);
            for (auto *scales : {a_scales_, b_scales_}) {
                scales->dim(0).set_bounds(0, all).set_stride(Expr());
            }
        } else {
            b_nk.dim(0).set_extent(depth);
            const RDom r(0, depth, "k");
            acc(col, row) += a_f(r, row) * b_f(col, r);
        }
        const auto dequantize = [&](const Expr &v) {
            if (scaling == Scales::kBlock) {
                return v;
            }
            const Expr scale = scaling == Scales::kTensor ? *a_scale_ * *b_scale_ : (*a_scales_)(row) * (*b_scales_)(col);
            return own_product(v, scale, target);
        };
        const auto plus_bias = [&](const Expr &v) { return bias ? own_sum(v, load_f32((*bias)(col)), target) : v; };
        const auto activate_it = [&](const Expr &v) -> Expr {
            linear(col, row) = v;
            activated(col, row) = activate(activation, linear(col, row), target, stored_type(output, type));
            return activated(col, row);
        };
        const auto plus_residual = [&](const Expr &v) { return residual ? own_sum(v, load_f32((*residual)(col, row)), target) : v; };
        const Expr v =
            in_order(order, acc(col, row),
                     {{"dequantize", dequantize}, {"bias", plus_bias}, {"activation", activate_it}, {"residual", plus_residual}});
        y(col, row) = stored(v, get_target());
    }

private:
    GeneratorInput<float> *a_scale_ = nullptr, *b_scale_ = nullptr;
    GeneratorInput<Buffer<>> *a_scales_ = nullptr, *b_scales_ = nullptr;
    Var col{"col"}, row{"row"}, k{"k"}, block{"block"};
    Func a_f{"a_f"}, b_f{"b_f"}, of_block{"of_block"}, acc{"acc"}, linear{"linear"}, activated{"activated"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(GemmFp8, gemm_fp8)
