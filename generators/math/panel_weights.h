#ifndef HALYARD_MATH_PANEL_WEIGHTS_H
#define HALYARD_MATH_PANEL_WEIGHTS_H

/** \file
 * Products with weights in interleaved blocks (math/blocks.h) by threads of a GPU: a load brings some bytes of neighbouring columns, and parts of
 * the depth are summed apart.
 */

#include <functional>
#include <string>
#include <vector>

#include <Halide.h>

#include "math/blocks.h"

namespace halyard {

/** Funcs that a schedule may keep in registers, of names that begin with `name`: _bytes(byte, unit, block, panel), _scale_bytes and, where there
 * are minima, _minimum_bytes(byte, block, panel); what is made of them, _scale and _minimum(lane, block, panel); and an f32,
 * _element(member, group, half, block, lane, panel). */
class PanelWeights {
public:
    PanelWeights(const BlockWeights &weights, const std::string &name) : element(name + "_element") {
        using namespace Halide;
        Func bytes(name + "_bytes");
        bytes(byte, unit, block, panel) = weights.panel_byte(byte, unit, block, panel);
        const Func scale = halves(name + "_scale", weights.panel_scale_byte(byte, block, panel));
        const Expr word = weights.bits() == 8 ? 4 * half + group : Expr(group);
        Expr value = weights.element_of_byte(bytes(4 * lane + member, word, block, panel), half) * scale(lane, block, panel);
        if (weights.has_minimum()) {
            value = value + halves(name + "_minimum", weights.panel_minimum_byte(byte, block, panel))(lane, block, panel);
        }
        element(member, group, half, block, lane, panel) = value;
    }

    Halide::Func element;

private:
    Halide::Func halves(const std::string &name, const Halide::Expr &value) {
        using namespace Halide;
        Func bytes(name + "_bytes"), result(name);
        bytes(byte, block, panel) = value;
        const Expr low = bytes(2 * lane, block, panel), high = bytes(2 * lane + 1, block, panel);
        result(lane, block, panel) = BlockWeights::from_bits(concat_bits({low, high}));
        return result;
    }

    Halide::Var byte{"byte"}, unit{"unit"}, member{"member"}, group{"group"}, half{"half"}, block{"block"}, lane{"lane"}, panel{"panel"};
};

/** Sums over the depth of a panel's columns, which `parts` threads share, by four each, as they have words of four neighbours. A Func partial(lane,
 * panel, row, group, part) has sums of a part of the depth each. */
class PanelSums {
public:
    /** `terms`(at, member, group, half, block) are what is summed of each element: `at` is its place along the depth, and the rest are those of
     * PanelWeights::element; `lane`, `panel` and `row` stand in it as variables. */
    using Terms = std::function<std::vector<Halide::Expr>(const Halide::Expr &at, const Halide::Expr &member, const Halide::Expr &group,
                                                          const Halide::Expr &half, const Halide::Expr &block)>;

    PanelSums(Halide::Func partial, const Halide::Expr &depth, int parts, const Terms &terms)
        : partial_(std::move(partial)), parts_(parts) {
        using namespace Halide;
        const Expr blocks = depth / BlockWeights::kBlock;
        RDom r({{0, 4}, {0, 2}, {0, (blocks + (parts - 1)) / parts}}, "k");
        const Expr block = r.z * parts + part;
        r.where(block < blocks);
        // Behind the last block the rows have nothing to be fetched.
        const Expr at = BlockWeights::kBlock * min(block, max(blocks - 1, 0)) + BlockWeights::kLanes * r.y + 4 * group + r.x;
        std::vector<Expr> sums = terms(at, r.x, group, r.y, block);
        single_ = sums.size() == 1;
        partial_(lane, panel, row, group, part) = Tuple(std::vector<Expr>(sums.size(), 0.0f));
        for (size_t i = 0; i < sums.size(); i++) {
            sums[i] = value(partial_(lane, panel, row, group, part), i) + sums[i];
        }
        partial_(lane, panel, row, group, part) = Tuple(sums);
    }

    /** Sum i of a column of a panel. */
    Halide::Expr sum(size_t i, const Halide::Expr &of_lane, const Halide::Expr &of_panel, const Halide::Expr &of_row) const {
        std::vector<Halide::Expr> values;
        for (int p = 0; p < parts_; p++) {
            for (int g = 0; g < kGroups; g++) {
                values.push_back(value(partial_(of_lane, of_panel, of_row, g, p), i));
            }
        }
        for (; values.size() > 1; values.resize((values.size() + 1) / 2)) {  // so that few additions wait for others
            for (size_t v = 0; v + (values.size() + 1) / 2 < values.size(); v++) {
                values[v] = values[v] + values[v + (values.size() + 1) / 2];
            }
        }
        return values.front();
    }

    Halide::Var lane{"lane"}, panel{"panel"}, row{"row"};

private:
    static constexpr int kGroups = 4;

    Halide::Expr value(const Halide::FuncRef &at, size_t i) const {
        return single_ ? Halide::Expr(at) : at[int(i)];
    }

    Halide::Func partial_;
    int parts_;
    bool single_ = false;
    Halide::Var group{"group"}, part{"part"};
};

}  // namespace halyard

#endif
