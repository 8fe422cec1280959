#ifndef HALYARD_MATH_BLOCK_ROWS_H
#define HALYARD_MATH_BLOCK_ROWS_H

/** \file
 * The rows that weights are multiplied by: as they are, and where weights in blocks want it (math/block_product.h), in 8 bits with the
 * sums of them that zeros and minima of weights are multiplied by. Products of the same rows share both.
 */

#include <optional>
#include <string>
#include <vector>

#include <Halide.h>

#include "math/blocks.h"
#include "math/quantized_rows.h"
#include "math/unread.h"

namespace halyard {

class BlockRows {
public:
    /** Of the input `name`, or of a Func that is called so: what is made of them is NAME_q and so on. */
    /** `granted`: nothing but products depends on whether rows have elements (math/unread.h). */
    explicit BlockRows(const std::string &name, Granted granted = Granted::kYes) : name_(name), granted_(granted) {}

    const std::string &name() const {
        return name_;
    }

    /** Of f32, over [k, row]. */
    void define(const Halide::Func &rows) {
        rows_ = rows;
    }

    /** Before quantise(): inputs that are read along with them, of weights and of what they are made of. */
    void add_inputs(const std::vector<std::string> &inputs) {
        inputs_.insert(inputs_.end(), inputs.begin(), inputs.end());
    }

    Halide::Expr operator()(const Halide::Expr &k, const Halide::Expr &row) const {
        return rows_(k, row);
    }

    /** Nothing of them, nor of the inputs that are read along, is read where they have no elements. Of several products of them the first says it for all:
     * of two requirements with the same condition Halide keeps one. */
    void read_with_depth(Halide::Internal::GeneratorBase &generator, const Halide::Expr &depth) {
        if (!is_said_) {
            std::vector<std::string> read = inputs_;
            read.push_back(name_);
            read_only_if(generator, depth > 0, read, granted_);
        }
        is_said_ = true;
    }

    /** Defines them in 8 bits, if no other product has. `zero`: what stands for 0 in weights, if it is the same for all. `group`: what a
     * SIMD lane has of a block, of which there are sums then; 0: sums are those of all that a scale is of. */
    void quantise(Halide::Internal::GeneratorBase &generator, const Halide::Expr &depth, const Halide::Type &type,
                  const BlockWeights &weights, int zero, int group) {
        using namespace Halide;
        if (in_8_bits_) {
            return;
        }
        read_with_depth(generator, depth);
        in_8_bits_.emplace(name_);
        in_8_bits_->define([&](const Expr &k, const Expr &r) { return rows_(k, r); }, depth, type);
        const bool by_group = weights.zero_of(0, 0).defined();
        const int factor = by_group ? -1 : -zero, halves = 2 / weights.scales();
        if (factor != 0) {
            const RDom r({{0, group > 0 ? group : QuantizedRows::kHalf}, {0, halves}}, "k");
            const std::vector<Expr> at = group > 0 ? std::vector<Expr>{lane, scale_, block, row} : std::vector<Expr>{scale_, block, row};
            sum_ = Func(name_ + "_sum");
            sum_(at) = 0;
            sum_(at) += factor * cast<int32_t>(q((group > 0 ? group * lane : 0) + r.x, halves * scale_ + r.y, block, row));
        }
        if (weights.has_minimum()) {
            const RDom r({{0, QuantizedRows::kHalf}, {0, 2}}, "k");
            Func total(name_ + "_total");
            total(block, row) = 0;
            total(block, row) += cast<int32_t>(q(r.x, r.y, block, row));
            minimum_ = Func(name_ + "_minimum");
            minimum_(block, row) = scale(block, row) * cast<float>(total(block, row));
        }
    }

    /** Element i + 16 half of a block of a row, and the scale of the block. */
    Halide::Expr q(const Halide::Expr &i, const Halide::Expr &half, const Halide::Expr &block, const Halide::Expr &row) const {
        return in_8_bits_->q(i, half, block, row);
    }
    Halide::Expr scale(const Halide::Expr &block, const Halide::Expr &row) const {
        return in_8_bits_->scale(block, row);
    }

    /** The sum of what a scale is of, or of a lane's, times -zero, or where each group has its zero, times -1; undefined where zeros are 0.
     * `at`: [lane, scale, block, row], or without the lane. */
    Halide::Expr sum(const std::vector<Halide::Expr> &at) const {
        return sum_.defined() ? Halide::Expr(sum_(at)) : Halide::Expr();
    }

    /** What a minimum of a block is multiplied by. */
    Halide::Expr of_minimum(const Halide::Expr &block, const Halide::Expr &row) const {
        return minimum_(block, row);
    }

private:
    std::string name_;
    Granted granted_;
    bool is_said_ = false;
    std::vector<std::string> inputs_;
    Halide::Func rows_, sum_, minimum_;
    std::optional<QuantizedRows> in_8_bits_;
    Halide::Var lane{"lane"}, scale_{"scale"}, block{"block"}, row{"row"};
};

}  // namespace halyard

#endif
