// GEMM with weights of 4 and 8 bits in groups along k and an epilogue:
//
//   acc[row, col] = sum over k of a[row, k] * w[k, col]
//   y = activation(scale * acc + bias) + residual, or the same steps in another order
//
// Weights are read as they lie in a file, column after column (math/blocks.h has the formats), and are multiplied as the f32 that they
// stand for, rounded to the type of the rows, or as integers by rows in 8 bits (math/block_product.h). For few rows a sum over the 32
// elements of a block is multiplied by the block's scale once; for many the weights are made f32 once.

#include <optional>

#include <Halide.h>

#include "math/block_product.h"
#include "math/blocks.h"
#include "math/elements.h"
#include "math/product_epilogue.h"
#include "math/unread.h"
#include "math/weights.h"

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
    /** Of int4 and int8: weights are rounded to the type of the rows, as tensor cores take them, and scales are of it. */
    GeneratorParam<bool> rounded{"rounded", false};
    /** exact, or int8: each block of 32 elements of a row in 8 bits, off by at most its largest by 254, as llama.cpp has it. */
    GeneratorParam<Activations> activations{"activations", Activations::kExact, activation_kinds()};
    /** How products are added up, a schedule's business: along k in SIMD lanes, or for several columns in these, of weights that are laid
     * out for that, once for many rows. */
    GeneratorParam<BlockSums> sums{"sums", BlockSums::kLanes, block_sums()};
    /** Of q4_0, q4_1 and q8_0: blocks of so many columns are interleaved, by halyard_interleave_blocks; 0: none are. */
    Number interleaved{"interleaved", 0, 0, 32};
    /** On CUDA: float32 rows and weights in interleaved blocks are cut to TF32, and summed as float32. */
    GeneratorParam<bool> tf32{"tf32", false};
    ProductEpilogue epilogue;

    Input<Buffer<void, 2>> a{"a"};   // [k, m]
    BlockWeights b;                  // k x n
    Output<Buffer<void, 2>> y{"y"};  // [n, m]

    void configure() {
        a.set_type(storage_type(type));
        y.set_type(epilogue.stored_type(type));
        const auto type_of_weights = rounded ? std::optional<Type>(storage_type(type)) : std::nullopt;
        b.interleave(interleaved);
        b.add_to(*this, "b", format, group_size, zero_points, type_of_weights);
        if (activations == Activations::kInt8 && rounded) {
            throw CompileError("activations=int8 multiplies integers, and rounded=true weights that are rounded: one of them");
        }
        const bool on_gpu = get_target().has_gpu_feature();
        if (tf32 && !(on_gpu && interleaved != 0 && type == Float(32))) {
            throw CompileError(
                "tf32 is how tensor cores multiply float32 rows by interleaved blocks: for CUDA, with type=float32 and interleaved");
        }
        if (interleaved != 0 && sums != BlockSums::kColumns && !on_gpu) {
            throw CompileError("interleaved weights are added up with sums=columns: take the schedule interleaved");
        }
        epilogue.add_to(*this, type);
    }

    void generate() {
        const Expr depth = a.width();
        add_requirement(depth % b.multiple() == 0, "gemm_q: k is", depth, "and not a multiple of", b.multiple());
        need_rows(*this, get_target(), "a", a.dim(1), y.dim(1));
        a_f(k, row) = load_f32(a(k, row_at(a, row, get_target())));
        const Expr columns = y.dim(0).max() + 1;
        if (interleaved != 0) {
            add_requirement(b.interleaved_columns() >= columns, "gemm_q:", b.name(), "has", b.interleaved_columns(), "columns, and y",
                            columns);
        }
        if (rounded && get_target().has_gpu_feature()) {
            RDom r(0, depth, "k");
            acc(col, row) += a_f(r, row) * weight(r, min(col, columns - 1));
        } else if (activations == Activations::kInt8) {
            read_only_if(*this, depth > 0, {"a", b.name(), "b_scale", "b_zero"});
            product.define(
                acc, [&](const Expr &i, const Expr &r) { return a_f(i, r); }, depth, columns, b, sums, get_target());
        } else if (interleaved != 0 && get_target().has_gpu_feature()) {
            multiply_interleaved(depth);
        } else if (interleaved != 0) {
            // A quarter of each block is a sum of its own, so that those of a row need not wait for each other.
            constexpr int kParts = 4, kBlock = BlockWeights::kBlock, kPart = kBlock / kParts;
            const Expr scaled = own_product(b.interleaved_element(k, block, col), b.interleaved_scale(block, col));
            w_block(col, k, block) = b.has_minimum() ? scaled + b.interleaved_minimum(block, col) : scaled;
            const RDom r({{0, kPart}, {0, depth / kBlock}}, "k"), parts(0, kParts, "k");
            const Expr at = part * kPart + r.x;
            quarter(col, row, part) += a_f(r.y * kBlock + at, row) * w_block(col, at, r.y);
            acc(col, row) += quarter(col, row, parts);
        } else if (sums == BlockSums::kColumns) {
            w_rows(k, col) = weight(k, min(col, columns - 1));  // columns of a panel beyond the last are read as the last
            w_f(col, k) = w_rows(k, col);
            RDom r(0, depth, "k");
            acc(col, row) += a_f(r, row) * w_f(col, r);
        } else {
            RDom r({{0, BlockWeights::kLanes}, {0, depth / BlockWeights::kBlock}}, "k");
            // Element i and i + 16 of a block in a lane.
            const auto rows = [&](const Expr &i) { return a_f(i, row); };
            acc(col, row) += rounded ? rounded_product(r.x, r.y, min(col, columns - 1)) : b.product(r.x, r.y, col, columns, rows);
        }
        b.constrain(depth, activations == Activations::kInt8);
        y(col, row) = epilogue(acc(col, row), col, row, get_target());
    }

private:
    Expr weight(const Expr &i, const Expr &column) const {
        return rounded ? load_f32(b.rounded_weight(i, column)) : b.weight(i, column);
    }

    // By threads, whose words have four neighbours along k; or of weights that are unpacked first, along k.
    void multiply_interleaved(const Expr &depth) {
        constexpr int kBlock = BlockWeights::kBlock, kLanes = BlockWeights::kLanes;
        w_scale(block, col) = b.interleaved_scale(block, col);
        if (b.has_minimum()) {
            w_minimum(block, col) = b.interleaved_minimum(block, col);
        }
        const auto weight = [&](const Expr &byte, const Expr &half) {
            const Expr scaled = b.element_of_byte(byte, half) * w_scale(block, col);
            return b.has_minimum() ? scaled + w_minimum(block, col) : scaled;
        };
        const auto unit_of = [&](const Expr &group, const Expr &half) { return b.bits() == 8 ? 4 * half + group : group; };
        if (sums == BlockSums::kLanes) {
            read_only_if(*this, depth > 0, {"a", b.name()});
            w_bytes(member, group, block, col) = b.interleaved_element_byte(member, group, block, col);
            w_block(member, group, half, block, col) = weight(w_bytes(member, unit_of(group, half), block, col), half);
            const RDom r({{0, 4}, {0, kLanes / 4}, {0, 2}, {0, depth / kBlock}}, "k");
            // Behind the last block, of which a schedule may have some, the rows have nothing to be fetched.
            const Expr at = kBlock * min(r.w, max(depth / kBlock - 1, 0)) + kLanes * r.z + 4 * r.y + r.x;
            acc(col, row) += a_f(at, row) * w_block(r.x, r.y, r.z, r.w, col);
            return;
        }
        w_block(member, group, half, block, col) = weight(b.interleaved_element_byte(member, unit_of(group, half), block, col), half);
        w_f(k, col) = w_block(k % 4, k % kLanes / 4, k % kBlock / kLanes, k / kBlock, col);
        const auto factor = [&](const Expr &f32) { return tf32 ? cut_to_tf32(f32) : f32; };
        const RDom r(0, depth, "k");
        acc(col, row) += factor(a_f(r, row)) * factor(w_f(r, col));
    }

    Expr rounded_product(const Expr &lane, const Expr &block, const Expr &column) {
        const Expr first = block * BlockWeights::kBlock + lane, second = first + BlockWeights::kLanes;
        return a_f(first, row) * weight(first, column) + a_f(second, row) * weight(second, column);
    }

    Var col{"col"}, row{"row"}, k{"k"}, part{"part"}, block{"block"}, member{"member"}, group{"group"}, half{"half"};
    Func w_bytes{"w_bytes"}, w_scale{"w_scale"}, w_minimum{"w_minimum"}, a_f{"a_f"}, w_rows{"w_rows"}, w_f{"w_f"}, w_block{"w_block"},
        quarter{"quarter"}, acc{"acc"};
    BlockProduct product;
};

}  // namespace

HALIDE_REGISTER_GENERATOR(GemmQ, gemm_q)
