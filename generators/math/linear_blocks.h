#ifndef HALYARD_MATH_LINEAR_BLOCKS_H
#define HALYARD_MATH_LINEAR_BLOCKS_H

/** \file
 * Weights of 4 to 32 bits in blocks along k (math/blocks.h) as the weights of a linear layer: multiplied as the f32 that they stand for,
 * rounded to the type of the rows, or as integers by rows in 8 bits (math/block_product.h).
 */

#include <optional>
#include <string>
#include <vector>

#include <Halide.h>

#include "math/block_product.h"
#include "math/block_rows.h"
#include "math/blocks.h"
#include "math/elements.h"
#include "math/number.h"
#include "math/open_number.h"
#include "math/panel_weights.h"

namespace halyard {

/** A member of a generator, of which its parameters are then parameters: how the weights of all its products are kept and multiplied. */
class BlockParams {
public:
    Halide::GeneratorParam<BlockFormat> format{"format", BlockFormat::kQ4_0, block_formats()};
    /** Of int4 and int8: elements of a column with one scale, a multiple of 32. */
    Number group_size{"group_size", 32, 32, 1 << 20};
    /** Of int4 and int8: w = (q - zero) * scale, with a zero a group; without, int4 stands for -8 to 7. */
    Halide::GeneratorParam<bool> zero_points{"zero_points", false};
    /** Of int4 and int8: weights are rounded to the type of the rows, as tensor cores take them, and scales are of it. */
    Halide::GeneratorParam<bool> rounded{"rounded", false};
    /** exact, or int8: each block of 32 elements of a row in 8 bits, off by at most its largest by 254, as llama.cpp has it. */
    Halide::GeneratorParam<Activations> activations{"activations", Activations::kExact, activation_kinds()};
    /** How products are added up, a schedule's business: along k in SIMD lanes, or for several columns in these, of weights that are laid
     * out for that, once for many rows. */
    Halide::GeneratorParam<BlockSums> sums{"sums", BlockSums::kLanes, block_sums()};
    /** Of formats that begin with q: blocks of so many columns are interleaved, by halyard_interleave_blocks; 0: none are. */
    Number interleaved{"interleaved", 0, 0, 32};
    /** On CUDA, of few rows: threads, or warps of them, that share the depth. */
    Number parts{"parts", 8, 1, 32};
};

class LinearBlocks : public BlockWeights {
public:
    /** Adds the inputs called `name`, where `rows` that they will multiply are stored as `type`. The Funcs are called `funcs`_q and so
     * on. */
    void add_to(Halide::Internal::GeneratorBase &generator, const std::string &name, const BlockParams &params, BlockRows &rows,
                const Halide::Type &type, const std::string &funcs, const Halide::Target &target) {
        using namespace Halide;
        generator_ = &generator;
        rows_ = &rows;
        funcs_ = funcs;
        target_ = target;
        rounded_ = params.rounded;
        activations_ = params.activations;
        sums_ = params.sums;
        parts_ = params.parts;
        interleave(params.interleaved);
        BlockWeights::add_to(generator, name, params.format, params.group_size, params.zero_points,
                             rounded_ ? std::optional<Type>(storage_type(type)) : std::nullopt);
        inputs_ = {BlockWeights::name(), name + "_scale", name + "_zero"};
        rows.add_inputs(inputs_);
        if (activations_ == Activations::kInt8 && rounded_) {
            throw CompileError("activations=int8 multiplies integers, and rounded=true weights that are rounded: one of them");
        }
        if (activations_ == Activations::kInt8 && is_float()) {
            throw CompileError("activations=int8 multiplies integers, and weights of f16, bf16 and f32 are none: activations=exact");
        }
        if (interleaved() != 0 && sums_ != BlockSums::kColumns && !target.has_gpu_feature()) {
            throw CompileError("interleaved weights are added up with sums=columns: take the schedule interleaved");
        }
    }

    /** Names of the inputs, those among them that the format lacks too. */
    const std::vector<std::string> &inputs() const {
        return inputs_;
    }

    /** acc += sum over k of rows(k, row) * weight(k, col), and what the weights must be for that. Columns from `columns` on are read as
     * the last one. */
    void multiply(const Halide::FuncRef &acc, const Halide::Expr &depth, const Halide::Expr &col, const Halide::Expr &row,
                  const Halide::Expr &columns) {
        using namespace Halide;
        if (sums_ == BlockSums::kWarps) {
            throw CompileError("sums=warps is for gemm_q on CUDA, with interleaved blocks");
        }
        BlockRows &rows = *rows_;
        require(depth, columns);
        if (rounded_ && target_.has_gpu_feature()) {
            const RDom r(0, depth, "k");
            FuncRef(acc) += rows(r, row) * weight_at(r, min(col, columns - 1));
        } else if (activations_ == Activations::kInt8) {
            BlockProduct(funcs_, *this, rows).add_to(*generator_, acc, depth, col, row, columns, sums_, target_);
        } else if (interleaved() != 0 && target_.has_gpu_feature()) {
            add_by_threads(acc, rows, depth, col, row);
        } else if (interleaved() != 0) {
            add_interleaved(acc, rows, depth, col, row);
        } else if (sums_ == BlockSums::kColumns) {
            add_in_columns(acc, rows, depth, col, row, columns);
        } else {
            add_in_lanes(acc, rows, depth, col, row, columns);
        }
    }

    /** What the weights must be for that. */
    void require(const Halide::Expr &depth, const Halide::Expr &columns) {
        generator_->add_requirement(depth % multiple() == 0, rows_->name(), "has rows of", depth, "elements, which is not a multiple of",
                                    multiple(), "as", name(), "wants");
        if (interleaved() != 0) {
            generator_->add_requirement(interleaved_columns() >= columns, name(), "has", interleaved_columns(), "columns, of", columns);
        }
        constrain(depth, activations_ == Activations::kInt8);
    }

private:
    // A quarter of each block is a sum of its own, so that those of a row need not wait for each
    // other.
    void add_interleaved(Halide::FuncRef acc, const BlockRows &rows, const Halide::Expr &depth, const Halide::Expr &column,
                         const Halide::Expr &given_row) const {
        using namespace Halide;
        constexpr int kParts = 4, kPart = kBlock / kParts;
        Expr value = interleaved_element(k, block, col);
        if (!is_float()) {
            value = own_product(value, interleaved_scale(scales() > 1 ? k / kLanes : 0, block, col));
        }
        Func w_block = named("block"), quarter = named("quarter");
        w_block(col, k, block) = has_minimum() ? value + interleaved_minimum(block, col) : value;
        const RDom r({{0, kPart}, {0, depth / kBlock}}, "k"), parts(0, kParts, "k");
        const Expr at = part * kPart + r.x;
        quarter(col, row, part) += rows(r.y * kBlock + at, row) * w_block(col, at, r.y);
        acc = 0.0f;
        acc = own_sum(Expr(acc), quarter(column, given_row, parts), target_);
    }

    // On CUDA, as Funcs partial, gathered and row_part that begin with the name of the weights' Funcs (math/panel_weights.h).
    void add_by_threads(Halide::FuncRef acc, const BlockRows &rows, const Halide::Expr &depth, const Halide::Expr &column,
                        const Halide::Expr &given_row) const {
        using namespace Halide;
        rows_->read_with_depth(*generator_, depth);
        PanelSums sums(*generator_, BlockWeights::name(), depth, parts_, number_or_open(kOpen, "turns", 1, 16),
                       number_or_open(kOpen, "rounds", 0, 1));
        const PanelWeights w(*this, funcs_, {sums.turn, sums.part}, sums.block(sums.turn, sums.part));
        Func row_part = named("row_part");
        row_part(sums.member, sums.half, sums.group, sums.turn, sums.part, sums.row) = rows(sums.at(sums.place()), sums.row);
        sums.define(named("partial"), named("gathered"), [&](const PanelPlace &p) {
            const Expr weight = w.element(p.member, p.group, p.half, p.turn, p.part, sums.lane, sums.panel);
            return std::vector<Expr>{row_part(p.member, p.half, p.group, p.turn, p.part, sums.row) * weight};
        });
        acc = sums.sum(0, column % interleaved(), column / interleaved(), given_row);
    }

    void add_in_columns(Halide::FuncRef acc, const BlockRows &rows, const Halide::Expr &depth, const Halide::Expr &column,
                        const Halide::Expr &given_row, const Halide::Expr &columns) const {
        using namespace Halide;
        Func w_rows = named("rows"), w_f = named("f");
        w_rows(k, col) = weight_at(k, min(col, columns - 1));  // columns of a panel beyond the last are read as the last
        w_f(col, k) = w_rows(k, col);
        const RDom r(0, depth, "k");
        acc += rows(r, given_row) * w_f(column, r);
    }

    void add_in_lanes(Halide::FuncRef acc, const BlockRows &rows, const Halide::Expr &depth, const Halide::Expr &column,
                      const Halide::Expr &given_row, const Halide::Expr &columns) const {
        using namespace Halide;
        const RDom r({{0, kLanes}, {0, depth / kBlock}}, "k");
        const auto row_at = [&](const Expr &i) { return rows(i, given_row); };
        if (rounded_) {  // element i and i + 16 of a block in a lane
            const Expr first = r.y * kBlock + r.x, second = first + kLanes, at = min(column, columns - 1);
            acc += row_at(first) * weight_at(first, at) + row_at(second) * weight_at(second, at);
        } else {
            acc += product(r.x, r.y, column, columns, row_at);
        }
    }

    Halide::Expr weight_at(const Halide::Expr &i, const Halide::Expr &column) const {
        return rounded_ ? load_f32(rounded_weight(i, column)) : weight(i, column);
    }

    Halide::Func named(const char *part) const {
        return Halide::Func(funcs_ + "_" + part);
    }

    Halide::Internal::GeneratorBase *generator_ = nullptr;
    BlockRows *rows_ = nullptr;
    std::string funcs_;
    std::vector<std::string> inputs_;
    Halide::Target target_;
    bool rounded_ = false;
    Activations activations_ = Activations::kExact;
    BlockSums sums_ = BlockSums::kLanes;
    int parts_ = 1;
    Halide::Var col{"col"}, row{"row"}, k{"k"}, part{"part"}, block{"block"};
};

}  // namespace halyard

#endif
