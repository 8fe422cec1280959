// Rotary position embedding (RoPE): each pair (a, b) of elements of a head is turned by an angle of its token,
//
//   y[a] = x[a] cos - x[b] sin          y[b] = x[b] cos + x[a] sin
//
// Su et al., RoFormer, 2021. The angles are given as tables of cosines and sines, a row a position, which may have any scaling in
// them; or as frequencies, of which angle = position * frequency. A head may have more elements than the angles turn: they are copied.
//
// The elements of a head go in blocks of `granule`, which divides the number of pairs: whether a block is turned, and where its
// partners lie, is then one question for a vector.

#include <Halide.h>

#include "math/elements.h"
#include "math/number.h"
#include "math/open_number.h"
#include "math/trig.h"

namespace {

using namespace Halide;
using namespace halyard;

enum class Pairing { kHalfSplit, kInterleaved };
enum class Angles { kTables, kFrequencies };
enum class PositionType { kInt32, kInt64 };

class Rope : public Generator<Rope> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    /** half_split: (i, i + width/2), as in GPT-NeoX and Llama. interleaved: (2 i, 2 i + 1), as in RoFormer and GPT-J. */
    GeneratorParam<Pairing> pairing{
        "pairing", Pairing::kHalfSplit, {{"half_split", Pairing::kHalfSplit}, {"interleaved", Pairing::kInterleaved}}};
    GeneratorParam<Angles> angles{"angles", Angles::kTables, {{"tables", Angles::kTables}, {"frequencies", Angles::kFrequencies}}};
    GeneratorParam<Type> table_type{"table_type", Float(32)};  // float32, float16 or bfloat16
    GeneratorParam<PositionType> position_type{
        "position_type", PositionType::kInt32, {{"int32", PositionType::kInt32}, {"int64", PositionType::kInt64}}};
    /** Neighbouring elements of which all are turned or none. 0: pairs of which it is the most of 16, 8 and 1 that divides them; -1: the
     * parameter "vector" of the schedule. */
    Number granule{"granule", 0, kOpen, 64};

    Input<Buffer<void, 3>> x{"x"};                  // [d, heads, tokens]
    Input<Buffer<void, 1>> positions{"positions"};  // [tokens]
    Input<Buffer<>> *cos_table = nullptr;           // [width / 2, length]
    Input<Buffer<>> *sin_table = nullptr;           // [width / 2, length]
    Input<Buffer<>> *frequencies = nullptr;         // [width / 2]
    Output<Buffer<void, 3>> y{"y"};                 // [d, heads, tokens]

    void configure() {
        x.set_type(storage_type(type));
        y.set_type(type);
        positions.set_type(position_type == PositionType::kInt64 ? Int(64) : Int(32));
        if (angles == Angles::kTables) {
            cos_table = add_input<Buffer<>>("cos_table", storage_type(table_type), 2);
            sin_table = add_input<Buffer<>>("sin_table", table_type, 2);
        } else {
            frequencies = add_input<Buffer<>>("frequencies", Float(32), 1);
        }
    }

    void generate() {
        d = x.dim(0).extent();
        half = (cos_table ? cos_table : frequencies)->dim(0).extent();
        add_requirement(2 * half <= d, "rope: the angles are of", half, "pairs, and heads have only", d, "elements");
        add_requirement(half > 0, "rope: the angles are of no pairs; a head that is not turned is a copy");
        if (granule != 0) {
            add_requirement(half % group() == 0, "rope: vectors of", group(), "pairs or elements do not divide", half, "pairs");
        }
        turn_of(positions(token));

        x_f(i, head, token) = load_f32(x(i, head, token));  // behind which a schedule keeps a vector
        const Expr xi = x_f(i, head, token), blocks = half / group();
        if (pairing == Pairing::kHalfSplit) {
            // Elements beyond a head have no partner, and a schedule may compute some: they take one that is there.
            const Expr of_i = i / group(), second = of_i >= blocks, turned = clamp(of_i, 0, 2 * blocks - 1);
            const Expr partner = select(second, turned - blocks, turned + blocks) * group() + i % group();
            const Expr xp = load_f32(x(unsafe_promise_clamped(partner, 0, d - 1), head, token));
            swapped = Func("swapped");
            swapped(i, head, token) = select(second, xp, -xp);
            const Expr v = turn(xi, i % group(), of_i, clamp(select(block >= blocks, block - blocks, block), 0, max(blocks - 1, 0)));
            y(i, head, token) = store_as(type, select(of_i < 2 * blocks, v, xi));
        } else {
            add_requirement(d % 2 == 0, "rope: heads of", d, "elements are no pairs of neighbours");
            const Expr p = i / 2, of_p = p / group(), xp = x_f(p * 2 + (1 - i % 2), head, token);
            swapped = Func("swapped_neighbours");  // by whose name a schedule knows
            swapped(i, head, token) = select(i % 2 == 1, xp, -xp);
            const Expr v = turn(xi, p % group(), of_p, min(block, max(blocks - 1, 0)));
            y(i, head, token) = store_as(type, select(of_p < blocks, v, xi));
        }
        y.dim(0).set_bounds(0, d);
        x.dim(0).set_min(0);
    }

private:
    // Cosine and sine of a pair of a token. The product of a position and an f32 is exact in f64.
    void turn_of(const Expr &position) {
        const Expr pair = pair_of(block, member);
        if (frequencies) {
            const Expr angle = cast<double>(position) * cast<double>((*frequencies)(pair));
            angle_turn(member, block, token) = Tuple(sin_quarters_f64(angle, 1), sin_quarters_f64(angle, 0));
            frequencies->dim(0).set_min(0);
            return;
        }
        const Expr length = cos_table->dim(1).extent();
        add_requirement(length > 0, "rope: the tables have no row for any position");
        const Expr row = cast<int32_t>(clamp(position, 0, cast(positions.type(), max(length - 1, 0))));
        angle_turn(member, block, token) = Tuple(load_f32((*cos_table)(pair, row)), load_f32((*sin_table)(pair, row)));
        cos_table->dim(0).set_min(0);
        cos_table->dim(1).set_min(0);
        sin_table->dim(0).set_bounds(0, half);
        sin_table->dim(1).set_bounds(0, length);
    }

    // A schedule may compute more blocks and members than are asked for: of halves, a call says that the tables have no such pair.
    // Between neighbours vectors stay whole where it is known that there is one.
    Expr pair_of(const Expr &block, const Expr &member) {
        if (pairing == Pairing::kHalfSplit) {
            return block * group() + member;
        }
        const Expr blocks = half / group();
        return unsafe_promise_clamped(clamp(block, 0, max(blocks - 1, 0)) * group() + clamp(member, 0, group() - 1), 0, half - 1);
    }

    // The angle of a block of elements is that of its pairs; of elements that are not turned it is any.
    Expr turn(const Expr &xi, const Expr &of_member, const Expr &of_block, const Expr &pairs) {
        const FuncRef of_pairs = angle_turn(member, pairs, token);
        element_turn(member, block, token) = Tuple(of_pairs[0], of_pairs[1]);
        const FuncRef at = element_turn(of_member, of_block, token);
        return xi * at[0] + swapped(i, head, token) * at[1];
    }

    Expr group() {
        if (granule != 0) {
            const Expr elements = number_or_open(granule, "vector", 1, 64);
            return pairing == Pairing::kInterleaved ? max(elements / 2, 1) : elements;
        }
        return select(half % 16 == 0, 16, half % 8 == 0, 8, 1);
    }

    Var i{"i"}, head{"head"}, token{"token"}, member{"member"}, block{"block"};
    Func x_f{"x_f"}, angle_turn{"angle_turn"}, element_turn{"element_turn"}, swapped;
    Expr d, half;
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Rope, rope)
