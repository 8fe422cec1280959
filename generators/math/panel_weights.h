#ifndef HALYARD_MATH_PANEL_WEIGHTS_H
#define HALYARD_MATH_PANEL_WEIGHTS_H

/** \file
 * Products with weights in interleaved blocks (math/blocks.h) by threads of a GPU: a load brings some bytes of neighbouring columns, and parts of
 * the depth are summed apart.
 */

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include <Halide.h>

#include "math/blocks.h"

namespace halyard {

/** Bytes of a panel of interleaved blocks, and the scales that they hold. */
class PanelBytes {
protected:
    /** `place`: variables that say which block along the depth is meant. */
    explicit PanelBytes(std::vector<Halide::Var> place) : place_(std::move(place)) {}

    // Coordinates with those of the place between them.
    template<class T>
    std::vector<T> with_place(std::vector<T> first, const std::vector<T> &last) const {
        first.insert(first.end(), place_.begin(), place_.end());
        first.insert(first.end(), last.begin(), last.end());
        return first;
    }
    std::vector<Halide::Var> with_place(std::initializer_list<Halide::Var> first, std::initializer_list<Halide::Var> last) const {
        return with_place(std::vector<Halide::Var>(first), std::vector<Halide::Var>(last));
    }

    // Numbers of f16, of two bytes each.
    Halide::Expr halves(const std::string &name, const Halide::Expr &value) {
        using namespace Halide;
        Func bytes(name + "_bytes");
        bytes(with_place({byte, group}, {panel})) = value;
        const auto byte_of = [&](const Expr &at) { return bytes(with_place(std::vector<Expr>{at, group}, {panel})); };
        return BlockWeights::from_bits(concat_bits({byte_of(2 * lane), byte_of(2 * lane + 1)}));
    }

    // `at_group`: whose threads want it.
    Halide::Expr scale_of(const std::string &name, const BlockWeights &weights, const Halide::Expr &block, const Halide::Expr &at_group) {
        using namespace Halide;
        Func result(name), small(name + "_small");
        const Expr of_file = halves(name, weights.panel_scale_byte(byte, block, panel));
        if (!weights.has_small()) {
            result(with_place({lane, group}, {panel})) = of_file;
            return result(with_place(std::vector<Expr>{lane, at_group}, {panel}));
        }
        small(with_place({lane, which, group}, {panel})) = weights.panel_small_scale(lane, which, block, panel);
        result(with_place({lane, which, group}, {panel})) =
            own_product(of_file, cast<float>(small(with_place({lane, which, group}, {panel}))));
        return result(with_place(std::vector<Expr>{lane, weights.scales() > 1 ? Expr(half) : Expr(0), at_group}, {panel}));
    }

    Halide::Expr minimum_of(const std::string &name, const BlockWeights &weights, const Halide::Expr &block) {
        using namespace Halide;
        Func result(name), small(name + "_small");
        Expr value = halves(name, weights.panel_minimum_byte(byte, block, panel));
        if (weights.has_small()) {
            small(with_place({lane, group}, {panel})) = weights.panel_small_minimum(lane, block, panel);
            value = own_product(-value, cast<float>(small(with_place({lane, group}, {panel}))));
        }
        result(with_place({lane, group}, {panel})) = value;
        return result(with_place({lane, group}, {panel}));
    }

    std::vector<Halide::Var> place_;
    Halide::Var byte{"byte"}, member{"member"}, group{"group"}, half{"half"}, word{"word"}, lane{"lane"}, panel{"panel"}, which{"which"};
};

/** Funcs that a schedule may keep in registers, of names that begin with `name`: _bytes(byte, group, word, place, panel), where bits of a weight are
 * apart _high_bytes(byte, group, half, place, panel) too; unless weights have no scale, _scale_bytes and, where there are minima, _minimum_bytes(byte,
 * group, place, panel), which are the same for all groups; where they are multiplied by others, _scale_small(lane, which, group, place, panel) and
 * _minimum_small, which has no `which`; what is made of them, _scale and _minimum, likewise; and an f32, _element(member, group, half, place, lane,
 * panel). Where high bytes have what is of both halves of a block, `half` is 0. */
class PanelWeights : public PanelBytes {
public:
    /** `place`: variables that say which block along the depth is meant, and `block` that in them. */
    PanelWeights(const BlockWeights &weights, const std::string &name, const std::vector<Halide::Var> &place, const Halide::Expr &block)
        : PanelBytes(place), element(name + "_element") {
        using namespace Halide;
        Func bytes(name + "_bytes"), high(name + "_high_bytes");
        bytes(with_place({byte, group, word}, {panel})) = weights.panel_byte(byte, group, word, block, panel);
        if (weights.high_bits() > 0) {
            high(with_place({byte, group, half}, {panel})) = weights.panel_high_byte(byte, half, block, panel);
        }
        const auto word_of = [&](const Func &func, const Expr &which_word) {
            std::vector<Expr> four;
            for (int i = 0; i < 4; i++) {
                four.push_back(func(with_place(std::vector<Expr>{4 * lane + i, group, which_word}, {panel})));
            }
            return concat_bits(four);
        };
        const Expr more = weights.high_bits() > 0 ? word_of(high, weights.high_bits() == 2 ? Expr(half) : Expr(0)) : Expr();
        Expr value = weights.element_of_word(word_of(bytes, weights.word_at(member, half)), more, member, group, half);
        if (!weights.is_float()) {
            value = value * scale_of(name + "_scale", weights, block, group);
        }
        if (weights.has_minimum()) {
            value = value + minimum_of(name + "_minimum", weights, block);
        }
        element(with_place({member, group, half}, {lane, panel})) = value;
    }

    Halide::Func element;
};

/** Where a thread stands along the depth: member of a group of four neighbours, group, half of a block, and the block, which is that of a part in its
 * turn. */
struct PanelPlace {
    Halide::Expr member, group, half, turn, part;
};

/** Sums over the depth of a panel's columns, which `parts` threads share, by four each, as they have words of four neighbours. A Func partial(lane,
 * panel, row, group, part) has sums of a part of the depth each, and gathered(lane, panel, row, some) those of some parts. */
class PanelSums {
public:
    /** `turns` blocks of a part are one round; `rounds`: how many there are, 0 for as many as the depth has. A call whose depth has more is
     * an error of `op`. */
    PanelSums(Halide::Internal::GeneratorBase &generator, const std::string &op, const Halide::Expr &depth, int parts,
              const Halide::Expr &turns, const Halide::Expr &rounds)
        : blocks_(depth / BlockWeights::kBlock), turns_(turns), parts_(parts) {
        using namespace Halide;
        require_whole_parts(parts);
        const Expr of_round = turns * parts;
        generator.add_requirement(rounds == 0 || blocks_ <= rounds * of_round, op + ": the schedule has", rounds, "rounds of", of_round,
                                  "blocks, and a depth of", depth, "has more: take rounds=0");
        rounds_ = Internal::simplify(select(rounds > 0, rounds, (blocks_ + (of_round - 1)) / of_round));
    }

    /** The block of a part in its turn, the last one where there are no more. */
    Halide::Expr block(const Halide::Expr &of_turn, const Halide::Expr &of_part) const {
        return min(of_turn * parts_ + of_part, max(blocks_ - 1, 0));
    }

    /** Which element of the depth it is. */
    Halide::Expr at(const PanelPlace &p) const {
        return BlockWeights::kBlock * block(p.turn, p.part) + BlockWeights::kLanes * p.half + 4 * p.group + p.member;
    }

    /** Sums up terms of each element; `lane`, `panel` and `row` stand in them as variables. */
    void define(Halide::Func partial, Halide::Func gathered, const std::function<std::vector<Halide::Expr>(const PanelPlace &)> &terms) {
        using namespace Halide;
        gathered_ = std::move(gathered);
        RDom r({{0, 4}, {0, 2}, {0, turns_}, {0, rounds_}}, "k");
        const Expr turn_of_all = r[3] * turns_ + r.z;
        r.where(turn_of_all * parts_ + part < blocks_);
        std::vector<Expr> sums = terms({r.x, group, r.y, turn_of_all, part});
        single_ = sums.size() == 1;
        const FuncRef own = partial(lane, panel, row, group, part);
        partial(lane, panel, row, group, part) = Tuple(std::vector<Expr>(sums.size(), 0.0f));
        for (size_t i = 0; i < sums.size(); i++) {
            sums[i] = value(own, i) + sums[i];
        }
        partial(lane, panel, row, group, part) = Tuple(sums);

        std::vector<Expr> few(sums.size());
        const int of_some = std::max(parts_ / kSome, 1);
        for (size_t i = 0; i < sums.size(); i++) {
            std::vector<Expr> values;
            for (int p = 0; p < of_some; p++) {
                for (int g = 0; g < kGroups; g++) {
                    values.push_back(value(partial(lane, panel, row, g, of_some * some + p), i));
                }
            }
            few[i] = sum_of(values);
        }
        gathered_(lane, panel, row, some) = Tuple(few);
    }

    /** Sum i of a column of a panel. */
    Halide::Expr sum(size_t i, const Halide::Expr &of_lane, const Halide::Expr &of_panel, const Halide::Expr &of_row) const {
        std::vector<Halide::Expr> values;
        for (int s = 0; s < std::min(parts_, kSome); s++) {
            values.push_back(value(gathered_(of_lane, of_panel, of_row, s), i));
        }
        return sum_of(values);
    }

    Halide::Var lane{"lane"}, panel{"panel"}, row{"row"}, group{"group"}, part{"part"}, turn{"turn"}, member{"member"}, half{"half"},
        some{"some"};

    /** The place that the variables say. */
    PanelPlace place() const {
        return {member, group, half, turn, part};
    }

    /** Parts are put together in eights. */
    static void require_whole_parts(int parts) {
        if (parts > kSome && parts % kSome != 0) {
            throw Halide::CompileError("parts=" + std::to_string(parts) + ": take up to 8, or a multiple of 8");
        }
    }

    /** In pairs, so that few additions wait for others. */
    static Halide::Expr sum_of(std::vector<Halide::Expr> values) {
        for (; values.size() > 1; values.resize((values.size() + 1) / 2)) {
            for (size_t v = 0; v + (values.size() + 1) / 2 < values.size(); v++) {
                values[v] = values[v] + values[v + (values.size() + 1) / 2];
            }
        }
        return values.front();
    }

    static constexpr int kSome = 8;

private:
    static constexpr int kGroups = 4;

    Halide::Expr value(const Halide::FuncRef &at, size_t i) const {
        return single_ ? Halide::Expr(at) : at[int(i)];
    }

    Halide::Func gathered_;
    Halide::Expr blocks_, turns_, rounds_;
    int parts_;
    bool single_ = false;
};

}  // namespace halyard

#endif
