// GEMM with weights of 4 and 8 bits in groups along k and an epilogue:
//
//   acc[row, col] = sum over k of a[row, k] * w[k, col]
//   y = activation(scale * acc + bias) + residual, or the same steps in another order
//
// Weights are read as they lie in a file, column after column (math/blocks.h has the formats). For few rows a sum over the 32 elements of
// a block is multiplied by the block's scale once; for many the weights are made f32 once (math/linear_blocks.h).

#include <Halide.h>

#include "math/block_rows.h"
#include "math/elements.h"
#include "math/linear_blocks.h"
#include "math/product_epilogue.h"
#include "math/weights.h"

namespace {

using namespace Halide;
using namespace halyard;

class GemmQ : public Generator<GemmQ> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // of a, bias, residual and y: float32, float16 or bfloat16
    BlockParams blocks;
    ProductEpilogue epilogue;

    Input<Buffer<void, 2>> a{"a"};   // [k, m]
    LinearBlocks b;                  // k x n
    Output<Buffer<void, 2>> y{"y"};  // [n, m]

    void configure() {
        a.set_type(storage_type(type));
        y.set_type(epilogue.stored_type(type));
        b.add_to(*this, "b", blocks, rows, type, "w", get_target());
        epilogue.add_to(*this, type);
    }

    void generate() {
        need_rows(*this, get_target(), "a", a.dim(1), y.dim(1));
        a_f(k, row) = load_f32(a(k, row_at(a, row, get_target())));
        rows.define(a_f);
        b.multiply(acc(col, row), a.width(), col, row, y.dim(0).max() + 1);
        y(col, row) = epilogue(acc(col, row), col, row, get_target());
    }

private:
    Var col{"col"}, row{"row"}, k{"k"};
    Func a_f{"a_f"}, acc{"acc"};
    BlockRows rows{"a"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(GemmQ, gemm_q)
