#ifndef HALYARD_MATH_BLOCK_PRODUCT_H
#define HALYARD_MATH_BLOCK_PRODUCT_H

/** \file
 * Products of rows in 8 bits (math/block_rows.h) with weights in blocks (math/blocks.h). The products of a block are added up as
 * integers, which are exact, and become f32 with the scales of both:
 *
 *   acc[row, col] = sum over blocks of  a_scale * w_scale * (sum of a_q * (w_q - zero))  +  w_minimum * a_scale * (sum of a_q)
 *
 * The zero is taken out by the sum of a_q. What instructions there are says how integers are added up:
 *
 *   VNNI                        four products of unsigned weights and signed rows, in 32 bits
 *   otherwise, to 6 bits        pairs of them in 16 bits, which they do not leave (vpmaddubsw), then pairs of those
 *   otherwise, 8 bits           pairs in 32 bits of numbers of 16 (vpmaddwd)
 *   the same, interleaved       both halves of 4 bits by themselves, as those to 6 bits
 */

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <Halide.h>

#include "math/block_rows.h"
#include "math/blocks.h"

namespace halyard {

/** Where products are added up: along k in SIMD lanes, which are added up at the end in f32; or whole, for several columns in SIMD
 * lanes, of weights that are laid out for that once for many rows; or by warps of a GPU, whose tensor cores add up a block. */
enum class BlockSums { kLanes, kColumns, kWarps };

inline std::map<std::string, BlockSums> block_sums() {
    return {{"lanes", BlockSums::kLanes}, {"columns", BlockSums::kColumns}, {"warps", BlockSums::kWarps}};
}

class BlockProduct {
public:
    /** With weights whose Funcs are to be called `name`_q and so on. */
    BlockProduct(const std::string &name, const BlockWeights &weights, BlockRows &rows) : name_(name), weights_(weights), rows_(rows) {}

    /** Adds up in `acc` the products of a row and a column of the weights. Columns from `columns` on are the last one. */
    void add_to(Halide::Internal::GeneratorBase &generator, const Halide::FuncRef &acc, const Halide::Expr &depth,
                const Halide::Expr &column, const Halide::Expr &given_row, const Halide::Expr &columns, BlockSums sums,
                const Halide::Target &target) {
        using namespace Halide;
        const BlockWeights &weights = weights_;
        vnni_ = target.has_feature(Target::AVX512_Zen4);
        const bool interleaved = weights.interleaved() > 0;
        wide_ = weights.bits() == 8 && !vnni_ && !interleaved;
        split_ = weights.bits() == 8 && !vnni_ && interleaved;
        raised_ = weights.bits() == 8 && !wide_ ? 128 : 0;
        group_ = wide_ ? 2 : 4;
        blocks_ = depth / BlockWeights::kBlock;
        by_group_ = weights.zero_of(0, 0).defined();
        rows_.quantise(generator, depth, wide_ ? Int(16) : Int(8), weights, weights.zero() + raised_,
                       sums == BlockSums::kLanes ? group_ : 0);
        define_weights(weights, columns);
        if (sums == BlockSums::kLanes) {
            add_in_lanes(acc, column, given_row);
        } else {
            add_in_columns(acc, column, given_row);
        }
    }

private:
    static constexpr int kHalf = BlockWeights::kLanes, kVector = 8;

    // Blocks of a file of 256 are whole in any number of blocks that a schedule takes at once.
    Halide::Expr clamped(const BlockWeights &weights, const Halide::Expr &b) const {
        return weights.together() > 1 ? b : Halide::min(Halide::likely(b), blocks_ - 1);
    }

    void define_weights(const BlockWeights &weights, const Halide::Expr &columns) {
        using namespace Halide;
        if (weights.interleaved() > 0) {
            define_interleaved(weights);
            return;
        }
        const Expr at = clamped(weights, block), column = min(col, columns - 1);
        const Expr q = weights.quant(i, half, at, column);
        w_q(i, half, block, col) = wide_ ? cast<int16_t>(q) : raised_ ? reinterpret<uint8_t>(q) ^ cast<uint8_t>(128) : q;
        if (weights.has_small()) {
            w_small(scale, block, col) = weights.small_scale(scale, at, column);
        } else if (weights.has_halves()) {
            w_half(block, col) = weights.scale_bits(at, column);
        }
        scale_ = [=](const Expr &s, const Expr &b, const Expr &c) {
            const Expr last = min(c, columns - 1), in = clamped(weights, b);
            return weights.has_halves()  ? BlockWeights::from_bits(w_half(b, c))
                   : weights.has_small() ? own_product(BlockWeights::from_bits(weights.scale_bits(in, last)), cast<float>(w_small(s, b, c)))
                                         : weights.group_scale(in, last);
        };
        zero_ = [=](const Expr &b, const Expr &c) { return weights.zero_of(clamped(weights, b), min(c, columns - 1)) + raised_; };
        if (weights.has_minimum()) {
            if (weights.has_small()) {
                w_small_minimum(block, col) = weights.small_minimum(at, column);
            } else {
                w_half_minimum(block, col) = weights.minimum_bits(at, column);
            }
            minimum_ = [=](const Expr &b, const Expr &c) {
                return weights.has_halves()
                           ? BlockWeights::from_bits(w_half_minimum(b, c))
                           : own_product(-BlockWeights::from_bits(weights.minimum_bits(clamped(weights, b), min(c, columns - 1))),
                                         cast<float>(w_small_minimum(b, c)));
            };
        }
    }

    void define_interleaved(const BlockWeights &weights) {
        using namespace Halide;
        const Expr q = weights.interleaved_quant(member, group, half, block, col);
        w_group(member, col, group, half, block) = raised_ ? reinterpret<uint8_t>(q) ^ cast<uint8_t>(128) : q;
        scale_ = [=](const Expr &s, const Expr &b, const Expr &c) { return weights.interleaved_scale(s, b, c); };
        zero_ = [=](const Expr &, const Expr &) { return Expr(); };
        minimum_ = [=](const Expr &b, const Expr &c) { return weights.interleaved_minimum(b, c); };
    }

    // What the sum of a block begins with: the zero's part.
    Halide::Expr begin(const std::vector<Halide::Expr> &at) {
        using namespace Halide;
        const Expr sum = rows_.sum(at);
        return !sum.defined() ? Expr(0) : by_group_ ? sum * zero_(block, col) : sum;
    }

    static Halide::Expr product16(const Halide::Expr &w, const Halide::Expr &a) {
        return Halide::cast<int16_t>(w) * Halide::cast<int16_t>(a);
    }
    static Halide::Expr product32(const Halide::Expr &w, const Halide::Expr &a) {
        return Halide::cast<int32_t>(w) * Halide::cast<int32_t>(a);
    }

    void add_in_lanes(Halide::FuncRef acc, const Halide::Expr &column, const Halide::Expr &given_row) {
        using namespace Halide;
        const BlockWeights &weights = weights_;
        const int scales = weights.scales(), halves = 2 / scales;
        dot(lane, scale, block, col, row) = begin({lane, scale, block, row});
        if (vnni_ || wide_) {
            const RDom r({{0, group_}, {0, halves}}, "k");
            const Expr at = group_ * lane + r.x, in = halves * scale + r.y;
            dot(lane, scale, block, col, row) += product32(w_q(at, in, block, col), rows_.q(at, in, block, row));
        } else {
            const RDom r({{0, 2}, {0, halves}}, "k"), two(0, 2, "k");
            const Expr at = 2 * p + r.x, in = halves * scale + r.y;
            pair(p, scale, block, col, row) = cast<int16_t>(0);
            pair(p, scale, block, col, row) =
                saturating_add(pair(p, scale, block, col, row), product16(w_q(at, in, block, col), rows_.q(at, in, block, row)));
            pair.update(0).atomic(true);
            dot(lane, scale, block, col, row) += cast<int32_t>(pair(2 * lane + two, scale, block, col, row));
        }
        const int lanes = kHalf / group_, together = kVector / lanes;
        const RDom r({{0, lanes}, {0, together}, {0, scales}, {0, (blocks_ + together - 1) / together}}, "k");
        const Expr b = together * r[3] + r.y;
        unit(scale, block, col, row) = own_product(scale_(scale, block, col), rows_.scale(block, row));
        acc += unit(r.z, b, column, given_row) * cast<float>(dot(r.x, r.z, b, column, given_row));
        if (weights.has_minimum()) {
            w_minimum(block, col) = minimum_(block, col);
            const RDom m({{0, kVector}, {0, (blocks_ + kVector - 1) / kVector}}, "m");
            const Expr at = kVector * m.y + m.x;
            acc += w_minimum(at, column) * rows_.of_minimum(at, given_row);
        }
    }

    void add_in_columns(Halide::FuncRef acc, const Halide::Expr &column, const Halide::Expr &given_row) {
        using namespace Halide;
        const BlockWeights &weights = weights_;
        const int scales = weights.scales(), halves = 2 / scales, groups = kHalf / group_;
        if (weights.interleaved() == 0) {
            w_group(member, col, group, half, block) = w_q(group_ * group + member, half, block, col);
        }
        dot(col, scale, block, row) = begin({scale, block, row});
        if (vnni_ || wide_) {
            const RDom r({{0, group_}, {0, groups}, {0, halves}}, "k");
            const Expr in = halves * scale + r.z;
            dot(col, scale, block, row) += product32(w_group(r.x, col, r.y, in, block), rows_.q(group_ * r.y + r.x, in, block, row));
        } else if (split_) {
            // The low 4 bits of all groups stay in 16 bits, and so do the high ones.
            const RDom r({{0, 2}, {0, halves * groups}}, "k"), two({{0, 2}, {0, 2}}, "k");
            const Expr g = r.y % groups, in = r.y / groups, w = w_group(member, col, group, half, block);
            w_part(member, col, part, group, half, block) = select(part == 0, w & cast<uint8_t>(15), w >> cast<uint8_t>(4));
            pair(p, col, part, scale, block, row) = cast<int16_t>(0);
            pair(p, col, part, scale, block, row) =
                saturating_add(pair(p, col, part, scale, block, row),
                               product16(w_part(2 * p + r.x, col, part, g, in, block), rows_.q(group_ * g + 2 * p + r.x, in, block, row)));
            pair.update(0).atomic(true);
            dot(col, scale, block, row) += cast<int32_t>(pair(two.x, col, two.y, scale, block, row)) * select(two.y == 0, 1, 16);
        } else {
            // So many groups stay in 16 bits: 8 of 4 bits, 4 of 5, 2 of 6.
            const int of_part = 8 >> (weights.bits() - 4), parts = halves * groups / of_part;
            const RDom r({{0, 2}, {0, of_part}}, "k"), two({{0, 2}, {0, parts}}, "k");
            const Expr at = part * of_part + r.y, g = at % groups, in = halves * scale + at / groups;
            pair(p, col, part, scale, block, row) = cast<int16_t>(0);
            pair(p, col, part, scale, block, row) =
                saturating_add(pair(p, col, part, scale, block, row),
                               product16(w_group(2 * p + r.x, col, g, in, block), rows_.q(group_ * g + 2 * p + r.x, in, block, row)));
            pair.update(0).atomic(true);
            dot(col, scale, block, row) += cast<int32_t>(pair(two.x, col, two.y, scale, block, row));
        }
        w_scales(col, scale, block) = scale_(scale, block, col);
        const RDom b({{0, scales}, {0, blocks_}}, "k");
        const Expr scale_here = own_product(w_scales(column, b.x, b.y), rows_.scale(b.y, given_row));
        acc = 0.0f;
        const Expr sum = Expr(acc) + scale_here * cast<float>(dot(column, b.x, b.y, given_row));
        if (weights.has_minimum()) {
            w_minimum(col, block) = minimum_(block, col);
            acc = own_sum(sum, own_product(w_minimum(column, b.y), rows_.of_minimum(b.y, given_row)));
        } else {
            acc = sum;
        }
    }

    Halide::Func named(const char *part) const {
        return Halide::Func(name_ + "_" + part);
    }

    std::string name_;
    const BlockWeights &weights_;
    BlockRows &rows_;
    bool vnni_ = false, wide_ = false;
    bool split_ = false;  // weights of 8 bits are multiplied as 4 and 4
    int raised_ = 0;      // unsigned weights of 8 bits are so much higher
    int group_ = 4;       // elements that become one number of 32 bits at once
    Halide::Expr blocks_;
    bool by_group_ = false;  // zeros
    std::function<Halide::Expr(Halide::Expr, Halide::Expr, Halide::Expr)> scale_;
    std::function<Halide::Expr(Halide::Expr, Halide::Expr)> zero_, minimum_;

    Halide::Var i{"i"}, half{"half"}, scale{"scale"}, block{"block"}, col{"col"}, row{"row"}, lane{"lane"}, p{"pair"}, member{"member"},
        group{"group"}, part{"part"};
    Halide::Func w_q = named("q"), w_half = named("half"), w_half_minimum = named("half_minimum"), w_small = named("small"),
                 w_small_minimum = named("small_minimum"), w_group = named("group"), w_part = named("part"), w_scales = named("scales"),
                 w_minimum = named("minimum"), pair = named("pair"), dot = named("dot"), unit = named("unit");
};

}  // namespace halyard

#endif
