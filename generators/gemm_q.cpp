// GEMM with weights of 4 and 8 bits in groups along k and an epilogue:
//
//   acc[row, col] = sum over k of a[row, k] * w[k, col]
//   y = activation(scale * acc + bias) + residual, or the same steps in another order
//
// Weights are read as they lie in a file, column after column (math/block_layout.h has the formats). For few rows a sum over the 32 elements of
// a block is multiplied by the block's scale once; for many the weights are made f32 once (math/linear_blocks.h).

#include <Halide.h>

#include "math/block_rows.h"
#include "math/elements.h"
#include "math/linear_blocks.h"
#include "math/open_number.h"
#include "math/panel_products.h"
#include "math/panel_weights.h"
#include "math/product_epilogue.h"
#include "math/unread.h"
#include "math/weights.h"

namespace {

using namespace Halide;
using namespace halyard;

class GemmQ : public Generator<GemmQ> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // of a, bias, residual and y: float32, float16 or bfloat16
    BlockParams blocks;
    /** On CUDA: float32 rows and weights in interleaved blocks are cut to TF32, and summed as float32. */
    GeneratorParam<bool> tf32{"tf32", false};
    ProductEpilogue epilogue;

    Input<Buffer<void, 2>> a{"a"};   // [k, m]
    LinearBlocks b;                  // k x n
    Output<Buffer<void, 2>> y{"y"};  // [n, m]

    void configure() {
        a.set_type(storage_type(type));
        y.set_type(epilogue.stored_type(type));
        b.add_to(*this, "b", blocks, rows, type, "w", get_target());
        if (tf32 && !(on_gpu() && blocks.interleaved != 0 && type == Float(32))) {
            throw CompileError(
                "tf32 is how tensor cores multiply float32 rows by interleaved blocks: for CUDA, with type=float32 and interleaved");
        }
        epilogue.add_to(*this, type);
    }

    void generate() {
        need_rows(*this, get_target(), "a", a.dim(1), y.dim(1));
        a_f(k, row) = load_f32(a(k, row_at(a, row, get_target())));
        rows.define(a_f);
        const Expr columns = y.dim(0).max() + 1;
        if (on_gpu() && blocks.interleaved != 0 && blocks.sums != BlockSums::kLanes) {
            b.require(a.width(), columns);
            if (blocks.sums == BlockSums::kWarps) {
                acc(col, row) = sum_by_warps(a.width());
            } else {
                multiply_unpacked(a.width());
            }
        } else {
            b.multiply(acc(col, row), a.width(), col, row, columns);
        }
        Expr sum = acc(col, row);
        if (on_gpu() && blocks.rounded && Type(type).bits() == 16) {
            sum = select(number_or_open(kOpen, "by_warps", 0, 1) == 1, sum_by_warps(a.width()), sum);
        }
        y(col, row) = epilogue(sum, col, row, get_target());
    }

private:
    bool on_gpu() const {
        return get_target().has_gpu_feature();
    }

    // By weights that are unpacked first, along k.
    void multiply_unpacked(const Expr &depth) {
        constexpr int kBlock = BlockWeights::kBlock, kLanes = BlockWeights::kLanes;
        const int columns = blocks.interleaved;
        Var block("block");
        const PanelWeights w(b, "w", {block}, block);
        w_f(k, col) = w.element(k % 4, k % kLanes / 4, k % kBlock / kLanes, k / kBlock, col % columns, col / columns);
        const auto factor = [&](const Expr &f32) { return tf32 ? cut_to_tf32(f32) : f32; };
        const RDom r(0, depth, "k");
        acc(col, row) += factor(a_f(r, row)) * factor(w_f(r, col));
    }

    Expr sum_by_warps(const Expr &depth) {
        std::vector<std::string> of_depth = b.inputs();
        of_depth.emplace_back("a");
        read_only_if(*this, depth > 0, of_depth);
        PanelProducts sums(WarpTurn::of(b), depth, blocks.parts, number_or_open(kOpen, "turns", 1, 16));
        const Type of_factors = type == Float(32) ? BFloat(16) : Type(type);
        const PanelFactors w(b, "w", {sums.turn, sums.part}, sums.block(), sums.blocks, of_factors);
        a_part(sums.element, sums.group, sums.turn, sums.part, sums.row) =
            sums.element_of([&](const Expr &at) { return Expr(a(at, row_at(a, sums.row, get_target()))); });
        sums.define(partial, gathered, w, a_part);
        const int columns = blocks.interleaved;
        return columns == 0 ? sums.sum(col, 0, row) : sums.sum(col % columns, col / columns, row);
    }

    Var col{"col"}, row{"row"}, k{"k"};
    Func a_f{"a_f"}, a_part{"a_part"}, acc{"acc"}, partial{"partial"}, gathered{"gathered"}, w_f{"w_f"};
    BlockRows rows{"a"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(GemmQ, gemm_q)
