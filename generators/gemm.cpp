// GEMM with an epilogue: y = activation(scale * (a b) + bias) + residual.
// Row-major: a is m x k, b is k x n, y is m x n, the last index innermost.

#include <Halide.h>

#include "math/activation.h"
#include "math/elements.h"

namespace {

using namespace Halide;
using namespace halyard;

/** How b lies in memory. kn: as it is written, n innermost. nk: transposed, k innermost, as
 * torch.nn.Linear stores it. packed: panels of `panel` columns, each k x panel, one after the
 * other; the last is padded. A packed b is read from front to back. */
enum class Layout { kKN, kNK, kPacked };

enum class Scale { kNone, kScalar, kColumn };

class Gemm : public Generator<Gemm> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    GeneratorParam<Layout> weights{
        "weights", Layout::kKN, {{"kn", Layout::kKN}, {"nk", Layout::kNK}, {"packed", Layout::kPacked}}};
    GeneratorParam<int> panel{"panel", 48};
    GeneratorParam<Scale> scaling{
        "scaling", Scale::kNone, {{"none", Scale::kNone}, {"scalar", Scale::kScalar}, {"column", Scale::kColumn}}};
    GeneratorParam<bool> add_bias{"add_bias", false};
    GeneratorParam<Activation> activation{"activation", Activation::kNone, activations()};
    GeneratorParam<bool> add_residual{"add_residual", false};

    Input<Buffer<void, 2>> a{"a"};  // [k, m]
    Input<Buffer<>> *b = nullptr;   // b [n, k], b_nk [k, n] or b_packed [panel, k, ceil(n / panel)]
    Input<Buffer<>> *scale_column = nullptr;     // [n]
    Input<float> *scale = nullptr;
    Input<Buffer<>> *bias = nullptr;      // bias [n]
    Input<Buffer<>> *residual = nullptr;    // residual [n, m]
    Output<Buffer<void, 2>> y{"y"};  // [n, m]

    void configure() {
        a.set_type(storage_type(type));
        y.set_type(type);
        switch (weights) {
        case Layout::kKN: b = add_input<Buffer<>>("b", type, 2); break;
        case Layout::kNK: b = add_input<Buffer<>>("b_nk", type, 2); break;
        default: b = add_input<Buffer<>>("b_packed", type, 3); break;
        }
        if (scaling == Scale::kColumn) {
            scale_column = add_input<Buffer<>>("scale_column", Float(32), 1);
        } else if (scaling == Scale::kScalar) {
            scale = add_input<float>("scale");
        }
        if (add_bias) {
            bias = add_input<Buffer<>>("bias", type, 1);
        }
        if (add_residual) {
            residual = add_input<Buffer<>>("residual", type, 2);
        }
    }

    void generate() {
        RDom r(0, a.width(), "k");
        b_f(col, k) = load_f32(weight());
        acc(col, row) += load_f32(a(r, row)) * b_f(col, r);
        Expr v = acc(col, row);
        if (scaling == Scale::kColumn) {
            v = v * (*scale_column)(col);
        } else if (scaling == Scale::kScalar) {
            v = v * *scale;
        }
        if (add_bias) {
            v = v + load_f32((*bias)(col));
        }
        linear(col, row) = v;
        activated(col, row) = activate(activation, linear(col, row));
        v = activated(col, row);
        if (add_residual) {
            v = v + load_f32((*residual)(col, row));
        }
        y(col, row) = store_as(type, v);
        b->dim(weights == Layout::kNK ? 0 : 1).set_extent(a.width());
        if (weights == Layout::kPacked) {
            b->dim(0).set_bounds(0, panel);
            b->dim(1).set_stride(panel);
            b->dim(2).set_min(0);
        }
    }

private:
    // Reads are clamped to the columns of y, so that a schedule may round columns up.
    Expr weight() {
        switch (weights) {
        case Layout::kKN: return (*b)(min(likely(col), y.dim(0).max()), k);
        case Layout::kNK: return (*b)(k, min(col, y.dim(0).max()));
        default: return (*b)(col % panel, k, col / panel);
        }
    }

    Var col{"col"}, row{"row"}, k{"k"};
    Func b_f{"b_f"}, acc{"acc"}, linear{"linear"}, activated{"activated"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Gemm, gemm)
