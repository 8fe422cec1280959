// GEMM with weights of 4 and 8 bits in groups along k, which are multiplied as the f32 that they stand for, and an epilogue:
//
//   acc[row, col] = sum over k of a[row, k] * w[k, col]
//   y = activation(scale * acc + bias) + residual, or the same steps in another order
//
// Weights are read as they lie in a file, column after column (math/blocks.h has the formats). A sum over the 32 elements of a block
// is multiplied by the block's scale once.

#include <Halide.h>

#include "math/blocks.h"
#include "math/elements.h"
#include "math/product_epilogue.h"

namespace {

using namespace Halide;
using namespace halyard;

class GemmQ : public Generator<GemmQ> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // of a, bias, residual and y: float32, float16 or bfloat16
    GeneratorParam<BlockFormat> format{"format", BlockFormat::kQ4_0, block_formats()};
    /** Of int4 and int8: elements of a column with one scale, a multiple of 32. */
    Number group_size{"group_size", 32, 32, 1 << 20};
    /** Of int4 and int8: w = (q - zero) * scale, with a zero a group; without, int4 stands for -8 to 7. */
    GeneratorParam<bool> zero_points{"zero_points", false};
    ProductEpilogue epilogue;

    Input<Buffer<void, 2>> a{"a"};   // [k, m]
    BlockWeights b;                  // k x n
    Output<Buffer<void, 2>> y{"y"};  // [n, m]

    void configure() {
        a.set_type(storage_type(type));
        y.set_type(epilogue.stored_type(type));
        b.add_to(*this, "b", format, group_size, zero_points);
        epilogue.add_to(*this, type);
    }

    void generate() {
        const Expr depth = a.width();
        add_requirement(depth % b.multiple() == 0, "gemm_q: k is", depth, "and not a multiple of", b.multiple());
        a_f(k, row) = load_f32(a(k, row));
        RDom r({{0, BlockWeights::kLanes}, {0, depth / BlockWeights::kBlock}}, "k");
        acc(col, row) += b.product(r.x, r.y, col, y.dim(0).max() + 1, [&](const Expr &i) { return a_f(i, row); });
        b.constrain(depth);
        y(col, row) = epilogue(acc(col, row), col, row, get_target());
    }

private:
    Var col{"col"}, row{"row"}, k{"k"};
    Func a_f{"a_f"}, acc{"acc"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(GemmQ, gemm_q)
