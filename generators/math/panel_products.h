#ifndef HALYARD_MATH_PANEL_PRODUCTS_H
#define HALYARD_MATH_PANEL_PRODUCTS_H

/** \file
 * Products of few rows with weights in interleaved blocks (math/blocks.h) by warps of a GPU. Integers of up to 8 bits are exact in 16-bit
 * floats, and an f32 is the sum of three bfloat16, so a warp adds up the products of a block on tensor cores, and each sum is multiplied by the block's scale. A
 * weight q scale + minimum has no such sum: an infinity in a row would meet a q of 0, which is a NaN, where the weight is none.
 */

#include <vector>

#include <Halide.h>

#include "math/panel_weights.h"

namespace halyard {

/** Funcs of a panel, of names that begin with `name`: those of PanelWeights, but for the element _integer(member, group, half, place, lane,
 * panel), which is one of 16 bits, without the scale. */
class PanelIntegers : public PanelBytes {
public:
    /** `type`: of the factors. */
    PanelIntegers(const BlockWeights &weights, const std::string &name, const std::vector<Halide::Var> &place, const Halide::Expr &block,
                  const Halide::Type &type)
        : PanelBytes(place), integer(name + "_integer") {
        using namespace Halide;
        if (weights.is_float() || weights.has_minimum() || weights.high_bits() > 0) {
            throw CompileError("sums=warps multiplies by blocks of q4_0 and q8_0");
        }
        Func bytes(name + "_bytes");
        bytes(with_place({byte, group, word}, {panel})) = weights.panel_byte(byte, group, word, block, panel);
        const Expr stored = bytes(with_place(std::vector<Expr>{4 * lane + member, group, weights.word_at(member, half)}, {panel}));
        integer(with_place({member, group, half}, {lane, panel})) =
            weights.bits() == 8 ? cast(type, reinterpret<int8_t>(stored))
                                : cast(type, BlockWeights::nibble(stored, half)) - cast(type, weights.zero());
        scale = scale_of(name + "_scale", weights, block, 0);
    }

    Halide::Func integer;
    Halide::Expr scale;  // of `lane` of `panel`
};

/** Sums over the depth of a panel's columns and a few rows, which `parts` warps share. Funcs factor(member, which, group, half, place,
 * row), of 16 bits; block_sum(row, lane, place, panel), of a block; partial(row, lane, panel, part), of a part of the depth;
 * gathered(lane, panel, row, some), of some parts. */
class PanelProducts {
public:
    /** `turns` blocks of a part are one round. */
    PanelProducts(const Halide::Expr &depth, int parts, const Halide::Expr &turns)
        : blocks_(depth / BlockWeights::kBlock), turns_(turns), parts_(parts) {
        PanelSums::require_whole_parts(parts);
    }

    /** The block of a part in its turn, the last one where there are no more. */
    Halide::Expr block() const {
        return min(turn * parts_ + part, max(blocks_ - 1, 0));
    }

    /** Which element of the depth it is. */
    Halide::Expr at() const {
        return BlockWeights::kBlock * block() + BlockWeights::kLanes * half + 4 * group + member;
    }

    /** `rows(member, group, half, turn, part, row)`: of 16 bits, or of 32, which are three factors each. */
    void define(Halide::Func partial, Halide::Func gathered, const PanelIntegers &weights, const Halide::Func &rows) {
        using namespace Halide;
        using Internal::substitute;
        gathered_ = gathered;
        const Expr element = rows(member, group, half, turn, part, row);
        const bool is_f32 = element.type() == Float(32);
        factor(member, which, group, half, turn, part, row) =
            is_f32 ? mux(which, {third_in_bf16(element, 0), third_in_bf16(element, 1), third_in_bf16(element, 2)}) : element;
        const RDom e({{0, 4}, {0, 4}, {0, 2}, {0, is_f32 ? 3 : 1}}, "e");
        block_sum(row, lane, turn, part, panel) += cast<float>(weights.integer(e.x, e.y, e.z, turn, part, lane, panel)) *
                                                   cast<float>(factor(e.x, e[3], e.y, e.z, turn, part, row));
        RDom r({{0, turns_}, {0, (blocks_ + turns_ * parts_ - 1) / (turns_ * parts_)}}, "k");
        const Expr number = r.y * turns_ + r.x;
        r.where(number * parts_ + part < blocks_);
        partial(row, lane, panel, part) += substitute(turn.name(), number, weights.scale) * block_sum(row, lane, number, part, panel);
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

    Halide::Var lane{"lane"}, panel{"panel"}, row{"row"}, group{"group"}, part{"part"}, turn{"turn"}, member{"member"}, half{"half"},
        some{"some"}, which{"which"};

private:
    static constexpr int kSome = PanelSums::kSome;

    Halide::Func factor{"factor"}, block_sum{"block_sum"}, gathered_;
    Halide::Expr blocks_, turns_;
    int parts_;
};

}  // namespace halyard

#endif
