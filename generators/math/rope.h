#ifndef HALYARD_MATH_ROPE_H
#define HALYARD_MATH_ROPE_H

/** \file
 * Rotary position embedding (RoPE): each pair (a, b) of elements of a head is turned by an angle of its token,
 *
 *   y[a] = x[a] cos - x[b] sin          y[b] = x[b] cos + x[a] sin
 *
 * Su et al., RoFormer, 2021. The angles are given as tables of cosines and sines, a row a position, which may have any scaling in
 * them; or as frequencies, of which angle = position * frequency. A head may have more elements than the angles turn: they stay.
 *
 * The elements of a head go in blocks of `granule`, which divides the number of pairs: whether a block is turned, and where its
 * partners lie, is then one question for a vector.
 */

#include <functional>
#include <string>

#include <Halide.h>

#include "math/elements.h"
#include "math/number.h"
#include "math/open_number.h"
#include "math/own_rounding.h"
#include "math/trig.h"

namespace halyard {

enum class Pairing { kHalfSplit, kInterleaved };
enum class Angles { kTables, kFrequencies };
enum class PositionType { kInt32, kInt64 };

/** A member of a generator, of which its parameters are then parameters. */
class Rotation {
public:
    /** half_split: (i, i + width/2), as in GPT-NeoX and Llama. interleaved: (2 i, 2 i + 1), as in RoFormer and GPT-J. */
    Halide::GeneratorParam<Pairing> pairing{
        "pairing", Pairing::kHalfSplit, {{"half_split", Pairing::kHalfSplit}, {"interleaved", Pairing::kInterleaved}}};
    Halide::GeneratorParam<Angles> angles{"angles", Angles::kTables, {{"tables", Angles::kTables}, {"frequencies", Angles::kFrequencies}}};
    Halide::GeneratorParam<Halide::Type> table_type{"table_type", Halide::Float(32)};  // float32, float16 or bfloat16
    Halide::GeneratorParam<PositionType> position_type{
        "position_type", PositionType::kInt32, {{"int32", PositionType::kInt32}, {"int64", PositionType::kInt64}}};
    /** Neighbouring elements of which all are turned or none. 0: pairs of which it is the most of 16, 8 and 1 that divides them; -1: the
     * parameter "vector" of the schedule. */
    Number granule{"granule", 0, kOpen, 64};

    /** Adds positions [tokens], and cos_table and sin_table [width / 2, length] or frequencies [width / 2]. */
    void add_to(Halide::Internal::GeneratorBase &generator) {
        using namespace Halide;
        positions_ = generator.add_input<Buffer<>>("positions", position_type == PositionType::kInt64 ? Int(64) : Int(32), 1);
        if (angles == Angles::kTables) {
            cos_table_ = generator.add_input<Buffer<>>("cos_table", storage_type(table_type), 2);
            sin_table_ = generator.add_input<Buffer<>>("sin_table", table_type, 2);
        } else {
            frequencies_ = generator.add_input<Buffer<>>("frequencies", Float(32), 1);
        }
    }

    /** Defines the Func "angle_turn" of the cosine and sine of each pair of a token, and what a call of `op` checks. `d`: the elements
     * of a head. */
    void define(Halide::Internal::GeneratorBase &generator, const std::string &op, const Halide::Expr &d) {
        using namespace Halide;
        d_ = d;
        target_ = generator.context().target();
        half_ = (cos_table_ ? cos_table_ : frequencies_)->dim(0).extent();
        generator.add_requirement(2 * half_ <= d_, op + ": the angles are of", half_, "pairs, and heads have only", d_, "elements");
        generator.add_requirement(half_ > 0, op + ": the angles are of no pairs; a head that is not turned is a copy");
        if (granule != 0) {
            generator.add_requirement(half_ % group() == 0, op + ": vectors of", group(), "pairs or elements do not divide", half_,
                                      "pairs");
        }
        if (pairing == Pairing::kInterleaved) {
            generator.add_requirement(d_ % 2 == 0, op + ": heads of", d_, "elements are no pairs of neighbours");
        }
        define_angles(generator, op);
    }

    /** Element `i` of a head of a token, turned. The Funcs that it takes get their names with `suffix`.
     *
     * xi                  the element, f32
     * neighbour, other    element by index, f32: one of the same vectors (interleaved), or of other ones (half_split) */
    Halide::Expr turned(const std::string &suffix, const Halide::Var &i, const Halide::Var &head, const Halide::Var &token,
                        const Halide::Expr &xi, const std::function<Halide::Expr(const Halide::Expr &)> &neighbour,
                        const std::function<Halide::Expr(const Halide::Expr &)> &other) {
        using namespace Halide;
        const Expr blocks = half_ / group();
        if (pairing == Pairing::kHalfSplit) {
            // Elements beyond a head have no partner, and a schedule may compute some: they take one that is there.
            const Expr of_i = i / group(), second = of_i >= blocks, in_turned = clamp(of_i, 0, 2 * blocks - 1);
            const Expr partner = select(second, in_turned - blocks, in_turned + blocks) * group() + i % group();
            const Expr xp = other(unsafe_promise_clamped(partner, 0, d_ - 1));
            Func swapped("swapped" + suffix);
            swapped(i, head, token) = select(second, xp, -xp);
            const Expr pairs = clamp(select(block_ >= blocks, block_ - blocks, block_), 0, max(blocks - 1, 0));
            return select(of_i < 2 * blocks, turn(suffix, token, xi, swapped(i, head, token), i % group(), of_i, pairs), xi);
        }
        const Expr p = i / 2, of_p = p / group(), xp = neighbour(p * 2 + (1 - i % 2));
        Func swapped("swapped_neighbours" + suffix);  // by whose name a schedule knows
        swapped(i, head, token) = select(i % 2 == 1, xp, -xp);
        const Expr pairs = min(block_, max(blocks - 1, 0));
        return select(of_p < blocks, turn(suffix, token, xi, swapped(i, head, token), p % group(), of_p, pairs), xi);
    }

    const Halide::GeneratorInput<Halide::Buffer<>> &positions() const {
        return *positions_;
    }

private:
    // Cosine and sine of a pair of a token. The product of a position and an f32 is exact in f64.
    void define_angles(Halide::Internal::GeneratorBase &generator, const std::string &op) {
        using namespace Halide;
        const Expr pair = pair_of(block_, member_), position = (*positions_)(token_);
        if (frequencies_) {
            const Expr angle = cast<double>(position) * cast<double>((*frequencies_)(pair));
            angle_turn_(member_, block_, token_) = Tuple(sin_quarters_f64(angle, 1), sin_quarters_f64(angle, 0));
            frequencies_->dim(0).set_min(0);
            return;
        }
        const Expr length = cos_table_->dim(1).extent();
        generator.add_requirement(length > 0, op + ": the tables have no row for any position");
        const Expr row = cast<int32_t>(clamp(position, 0, cast(position.type(), max(length - 1, 0))));
        angle_turn_(member_, block_, token_) = Tuple(load_f32((*cos_table_)(pair, row)), load_f32((*sin_table_)(pair, row)));
        cos_table_->dim(0).set_min(0);
        cos_table_->dim(1).set_min(0);
        sin_table_->dim(0).set_bounds(0, half_);
        sin_table_->dim(1).set_bounds(0, length);
    }

    // A schedule may compute more blocks and members than are asked for: of halves, a call says that the tables have no such pair.
    // Between neighbours vectors stay whole where it is known that there is one.
    Halide::Expr pair_of(const Halide::Expr &block, const Halide::Expr &member) {
        using namespace Halide;
        if (pairing == Pairing::kHalfSplit) {
            return block * group() + member;
        }
        const Expr blocks = half_ / group();
        return unsafe_promise_clamped(clamp(block, 0, max(blocks - 1, 0)) * group() + clamp(member, 0, group() - 1), 0, half_ - 1);
    }

    // The angle of a block of elements is that of its pairs; of elements that are not turned it is any.
    Halide::Expr turn(const std::string &suffix, const Halide::Var &token, const Halide::Expr &xi, const Halide::Expr &swapped,
                      const Halide::Expr &of_member, const Halide::Expr &of_block, const Halide::Expr &pairs) {
        using namespace Halide;
        Func element_turn("element_turn" + suffix);
        const FuncRef of_pairs = angle_turn_(member_, pairs, token);
        element_turn(member_, block_, token) = Tuple(of_pairs[0], of_pairs[1]);
        const FuncRef at = element_turn(of_member, of_block, token);
        return xi * at[0] + own_product(swapped, at[1], target_);
    }

    Halide::Expr group() {
        using namespace Halide;
        if (granule != 0) {
            const Expr elements = number_or_open(granule, "vector", 1, 64);
            return pairing == Pairing::kInterleaved ? max(elements / 2, 1) : elements;
        }
        return select(half_ % 16 == 0, 16, half_ % 8 == 0, 8, 1);
    }

    Halide::GeneratorInput<Halide::Buffer<>> *positions_ = nullptr, *cos_table_ = nullptr, *sin_table_ = nullptr, *frequencies_ = nullptr;
    Halide::Var member_{"member"}, block_{"block"}, token_{"token"};
    Halide::Func angle_turn_{"angle_turn"};
    Halide::Expr d_, half_;
    Halide::Target target_;
};

}  // namespace halyard

#endif
