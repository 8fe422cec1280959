#ifndef HALYARD_MATH_PANEL_PRODUCTS_H
#define HALYARD_MATH_PANEL_PRODUCTS_H

/** \file
 * Products of few rows with weights of 4 and 8 bits (math/blocks.h) by warps of a GPU, on tensor cores that take 16 bits.
 *
 * Integers of interleaved blocks are exact in 16 bits, and an f32 is the sum of three bfloat16: the sum of a block's products is multiplied by its scale.
 * A weight q scale + minimum has no such sum: an infinity in a row would meet a q of 0, which is a NaN, where the weight is none. Weights of int4 and
 * int8, which lie as in a file, become weights of 16 bits, and need no scale behind the sum.
 */

#include <functional>
#include <string>
#include <vector>

#include <Halide.h>

#include "math/panel_weights.h"

namespace halyard {

/** What the four threads side by side of a warp multiply in a turn: in each step four neighbours of the depth each. */
struct WarpTurn {
    int steps;
    bool own_blocks;  // each thread has a block, so that its loads are wide; else all four have each block

    static WarpTurn of(const BlockWeights &weights) {
        return weights.plain() ? WarpTurn{BlockWeights::kBlock / 4, true} : WarpTurn{2, false};
    }
    /** Blocks of the depth. */
    int blocks() const {
        return own_blocks ? 4 : 1;
    }
    /** The one that a thread has in a turn of the depth. */
    Halide::Expr block(const Halide::Expr &turn, const Halide::Expr &group) const {
        return own_blocks ? 4 * turn + group : turn;
    }
    /** Which element of its block is a thread's `element`, of 4 steps. */
    Halide::Expr in_block(const Halide::Expr &element, const Halide::Expr &group) const {
        return own_blocks ? element : BlockWeights::kLanes * (element / 4) + 4 * group + element % 4;
    }
};

/** Weights of 16 bits, as a Func _factor(member, group, step, place, lane, panel). Of interleaved blocks, the Funcs of PanelWeights with a
 * `step` for a `half`: integers, without the scale. Of weights as they lie, `lane` is the column and `panel` 0: _bytes(byte, group, place, lane),
 * _scale and, where there is one, _zero(group, place, lane). */
class PanelFactors : public PanelBytes {
public:
    /** `type`: of the factors. `blocks`: of the depth; `block`: which of them the place is, where weights are as they lie by `group` too. Beyond
     * the last it is 0. */
    PanelFactors(const BlockWeights &weights, const std::string &name, const std::vector<Halide::Var> &place, const Halide::Expr &block,
                 const Halide::Expr &blocks, const Halide::Type &type)
        : PanelBytes(place), factor(name + "_factor") {
        if (weights.plain()) {
            define_plain(weights, name, block, blocks, type);
        } else {
            define_interleaved(weights, name, block, type);
        }
    }

    Halide::Func factor;
    Halide::Expr scale;  // of the sums of `lane` of `panel`; undefined where there is none

private:
    void define_interleaved(const BlockWeights &weights, const std::string &name, const Halide::Expr &block, const Halide::Type &type) {
        using namespace Halide;
        if (weights.is_float() || weights.has_minimum() || weights.high_bits() > 0) {
            throw CompileError("sums=warps multiplies by interleaved blocks of q4_0 and q8_0");
        }
        Func bytes(name + "_bytes");
        bytes(with_place({byte, group, word}, {panel})) = weights.panel_byte(byte, group, word, block, panel);
        const Expr stored = bytes(with_place(std::vector<Expr>{4 * lane + member, group, weights.word_at(member, step)}, {panel}));
        factor(with_place({member, group, step}, {lane, panel})) =
            weights.bits() == 8 ? cast(type, reinterpret<int8_t>(stored))
                                : cast(type, BlockWeights::nibble(stored, step)) - cast(type, weights.zero());
        scale = scale_of(name + "_scale", weights, block, 0);
    }

    // Columns beyond the last are read as the last.
    void define_plain(const BlockWeights &weights, const std::string &name, const Halide::Expr &given_block, const Halide::Expr &blocks,
                      const Halide::Type &type) {
        using namespace Halide;
        const bool is_int8 = weights.bits() == 8;
        const Expr block = min(given_block, max(blocks - 1, 0)), column = min(lane, weights.plain_columns() - 1);
        Func bytes(name + "_bytes"), of_group(name + "_scale"), zero(name + "_zero");
        bytes(with_place({byte, group}, {lane})) = weights.plain_byte(byte, block, column);
        of_group(with_place({group}, {lane})) = select(given_block < blocks, weights.group_scale(block, column), cast(type, 0.0f));
        const auto at = [&](const Expr &b) { return bytes(with_place(std::vector<Expr>{b, group}, {lane})); };
        const Expr integer = is_int8 ? Expr(at(4 * step + member)) : BlockWeights::nibble(at(4 * (step % 4) + member), step / 4);
        Expr from = cast(type, weights.zero());
        if (weights.has_zeros()) {
            zero(with_place({group}, {lane})) = cast(type, weights.zero_of(block, column));
            from = zero(with_place({group}, {lane}));
        }
        const Expr of_column = of_group(with_place({group}, {lane}));
        factor(with_place({member, group, step}, {lane, panel})) =
            store_as(type, load_f32(cast(type, integer) - from) * load_f32(of_column));
    }

    Halide::Var step{"step"};
};

/** Sums over the depth of a panel's columns and a few rows, which `parts` warps share. Funcs row_factor(member, which, group, step, place, row),
 * of 16 bits; turn_sum(row, lane, place, panel); partial(row, lane, panel, part), of a part of the depth; gathered(lane, panel, row, some), of
 * some parts. */
class PanelProducts {
public:
    /** `turns` of a part are one round. */
    PanelProducts(const WarpTurn &warp, const Halide::Expr &depth, int parts, const Halide::Expr &turns)
        : blocks(depth / BlockWeights::kBlock), warp_(warp), count_((blocks + warp.blocks() - 1) / warp.blocks()), turns_(turns),
          parts_(parts) {
        PanelSums::require_whole_parts(parts);
    }

    /** Of the depth. */
    Halide::Expr blocks;

    /** Which one a thread has in a turn of its part; some beyond the last where threads have blocks of their own. */
    Halide::Expr block() const {
        return warp_.block(min(turn * parts_ + part, max(count_ - 1, 0)), group);
    }

    /** The element of a row that is a thread's `element`: `at` gives one of the depth. */
    Halide::Expr element_of(const std::function<Halide::Expr(const Halide::Expr &at)> &at) const {
        using namespace Halide;
        const auto in = [&](const Expr &b) { return at(BlockWeights::kBlock * b + warp_.in_block(element, group)); };
        if (!warp_.own_blocks) {
            return in(block());
        }
        const Expr found = in(min(block(), max(blocks - 1, 0)));
        return select(block() < blocks, found, cast(found.type(), 0.0f));
    }

    /** `rows(element, group, turn, part, row)`: of 16 bits, or of 32, which are three factors each. */
    void define(Halide::Func partial, Halide::Func gathered, const PanelFactors &weights, const Halide::Func &rows) {
        using namespace Halide;
        using Internal::substitute;
        gathered_ = gathered;
        const Expr of_row = rows(4 * step + member, group, turn, part, row);
        const bool is_f32 = of_row.type() == Float(32);
        row_factor(member, which, group, step, turn, part, row) =
            is_f32 ? mux(which, {third_in_bf16(of_row, 0), third_in_bf16(of_row, 1), third_in_bf16(of_row, 2)}) : of_row;
        const RDom e({{0, 4}, {0, 4}, {0, warp_.steps}, {0, is_f32 ? 3 : 1}}, "e");
        turn_sum(row, lane, turn, part, panel) += cast<float>(weights.factor(e.x, e.y, e.z, turn, part, lane, panel)) *
                                                  cast<float>(row_factor(e.x, e[3], e.y, e.z, turn, part, row));
        RDom r({{0, turns_}, {0, (count_ + turns_ * parts_ - 1) / (turns_ * parts_)}}, "k");
        const Expr number = r.y * turns_ + r.x;
        r.where(number * parts_ + part < count_);
        const Expr sum = turn_sum(row, lane, number, part, panel);
        partial(row, lane, panel, part) += weights.scale.defined() ? substitute(turn.name(), number, weights.scale) * sum : sum;
        const int of_some = std::max(parts_ / kSome, 1);
        std::vector<Expr> few;
        for (int p = 0; p < of_some; p++) {
            few.push_back(partial(row, lane, panel, of_some * some + p));
        }
        gathered(lane, panel, row, some) = PanelSums::sum_of(few);
    }

    /** The sum of a column of a panel. */
    Halide::Expr sum(const Halide::Expr &of_lane, const Halide::Expr &of_panel, const Halide::Expr &of_row) const {
        std::vector<Halide::Expr> values;
        for (int s = 0; s < std::min(parts_, kSome); s++) {
            values.push_back(gathered_(of_lane, of_panel, of_row, s));
        }
        return PanelSums::sum_of(values);
    }

    Halide::Var lane{"lane"}, panel{"panel"}, row{"row"}, group{"group"}, part{"part"}, turn{"turn"}, member{"member"}, step{"step"},
        element{"element"}, some{"some"}, which{"which"};

private:
    static constexpr int kSome = PanelSums::kSome;

    Halide::Func row_factor{"row_factor"}, turn_sum{"turn_sum"}, gathered_;
    WarpTurn warp_;
    Halide::Expr count_, turns_;
    int parts_;
};

}  // namespace halyard

#endif
