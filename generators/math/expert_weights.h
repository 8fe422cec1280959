#ifndef HALYARD_MATH_EXPERT_WEIGHTS_H
#define HALYARD_MATH_EXPERT_WEIGHTS_H

/** \file
 * The weights of a linear layer for each expert as an input of a generator: as math/linear.h has those of one, with the expert
 * as the last dimension.
 */

#include <optional>
#include <string>
#include <vector>

#include <Halide.h>

#include "math/elements.h"
#include "math/linear.h"
#include "math/weights.h"

namespace halyard {

class ExpertWeights {
public:
    /** Adds the input `name` in its layout: [k, n, experts], or packed panels of each expert one after the other. For a GPU there
     * is also a Func `name`_f of them in f32, over [col, k, slot], of which a schedule may copy tiles. */
    void add_to(Halide::Internal::GeneratorBase &generator, const std::string &name, WeightLayout layout, int panel,
                const Halide::Type &type, const Halide::Target &target) {
        layout_ = layout;
        panel_ = panel;
        if (target.has_gpu_feature()) {
            copied_ = Halide::Func(name + "_f");
        }
        weights_ = generator.add_input<Halide::Buffer<>>(weights_name(name, layout), type, weights_rank(layout) + 1);
    }

    /** acc(col, ..., slot) += sum over k of x(k) * weight(k, col) of the expert of a slot, where `some` holds. */
    template<typename X>
    void multiply(Halide::FuncRef acc, const Halide::Expr &depth, const Halide::Var &col, const Halide::Var &slot,
                  const Halide::Expr &columns, const Halide::Expr &expert, const Halide::Expr &experts, const Halide::Expr &some,
                  const X &x) {
        using namespace Halide;
        const int group = layout_ == WeightLayout::kPacked ? packed_group(weights_->type()) : 1;
        const auto weight = [&](const Expr &k) {
            if (layout_ != WeightLayout::kPacked) {
                return load_f32((*weights_)(k, min(col, columns - 1), expert));
            }
            // Panels beyond the last are read as the last. Its number is not taken from `columns`, of which Halide makes a minimum with
            // col, and vectors along col would be gathered.
            const Expr of_col = min(col / panel_, max(weights_->dim(3).extent() - 1, 0));
            return load_f32(group == 1 ? (*weights_)(0, col % panel_, k, of_col, expert)
                                       : (*weights_)(k % group, col % panel_, k / group, of_col, expert));
        };
        if (copied_) {
            Var i{"k"};
            (*copied_)(col, i, slot) = weight(i);
        }
        // As accumulate() does it.
        RDom r(0, depth / group * group, "k");
        r.where(some);
        acc += x(r) * (copied_ ? Expr((*copied_)(col, r, slot)) : weight(r));
        if (group > 1) {
            RDom left(depth / group * group, depth % group, "k_rest");
            left.where(some);
            acc += x(left) * (copied_ ? Expr((*copied_)(col, left, slot)) : weight(left));
        }
        constrain_weights(*weights_, layout_, panel_, depth);
        const int last = weights_rank(layout_);
        if (layout_ == WeightLayout::kPacked) {
            weights_->dim(3).set_extent((columns + panel_ - 1) / panel_);
        } else {
            weights_->dim(1).set_bounds(0, columns);
        }
        weights_->dim(last).set_bounds(0, experts);
    }

private:
    WeightLayout layout_ = WeightLayout::kPacked;
    int panel_ = 0;
    Halide::GeneratorInput<Halide::Buffer<>> *weights_ = nullptr;
    std::optional<Halide::Func> copied_;
};

}  // namespace halyard

#endif
