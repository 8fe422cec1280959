#ifndef HALYARD_MATH_LINEAR_H
#define HALYARD_MATH_LINEAR_H

/** \file
 * The weights of a linear layer as an input of a generator: transposed, packed, or in blocks of 4 to 8 bits.
 */

#include <optional>
#include <string>
#include <vector>

#include <Halide.h>

#include "math/elements.h"
#include "math/linear_blocks.h"
#include "math/weights.h"

namespace halyard {

inline std::map<std::string, WeightLayout> linear_layouts() {
    return {{"nk", WeightLayout::kNK}, {"packed", WeightLayout::kPacked}};
}

/** Of ops whose weights may be in blocks, which then have BlockParams. */
inline std::map<std::string, WeightLayout> layouts_with_blocks() {
    auto layouts = linear_layouts();
    layouts["blocks"] = WeightLayout::kBlocks;
    return layouts;
}

class Linear {
public:
    /** Adds the input `name` in its layout. For a GPU there is also a Func `name`_f of them in f32, over [col, k], of
     * which a schedule may copy tiles. */
    void add_to(Halide::Internal::GeneratorBase &generator, const std::string &name, WeightLayout layout, int panel,
                const Halide::Type &type, const Halide::Target &target = {}) {
        layout_ = layout;
        panel_ = panel;
        if (target.has_gpu_feature()) {
            copied_ = Halide::Func(name + "_f");
        }
        weights_ = generator.add_input<Halide::Buffer<>>(weights_name(name, layout), type, weights_rank(layout));
        inputs_ = {weights_name(name, layout)};
    }

    /** The same, or the inputs of weights in blocks. They will multiply `rows`, stored as `type`. */
    void add_to(Halide::Internal::GeneratorBase &generator, const std::string &name, WeightLayout layout, int panel,
                const BlockParams &blocks, BlockRows &rows, const Halide::Type &type, const Halide::Target &target) {
        rows_ = &rows;
        if (layout != WeightLayout::kBlocks) {
            add_to(generator, name, layout, panel, type, target);
            return;
        }
        layout_ = layout;
        panel_ = panel;
        blocks_.emplace();
        blocks_->add_to(generator, name, blocks, rows, type, name, target);
        inputs_ = blocks_->inputs();
    }

    /** Names of the inputs, some of which the format of blocks may lack. */
    const std::vector<std::string> &inputs() const {
        return inputs_;
    }

    /** acc(col, row, ...) += sum over k of rows(k, row) * weight(k, col), and what the weights must be for that. */
    void multiply(const Halide::FuncRef &acc, const Halide::Expr &depth, const Halide::Expr &col, const Halide::Expr &row,
                  const Halide::Expr &columns) {
        if (blocks_) {
            blocks_->multiply(acc, depth, col, row, columns);
        } else {
            multiply(acc, depth, col, columns, [&](const Halide::Expr &k) { return (*rows_)(k, row); });
        }
    }

    /** The same with the row that x(k) gives, of weights that are not in blocks. */
    template<typename X>
    void multiply(const Halide::FuncRef &acc, const Halide::Expr &depth, const Halide::Expr &col, const Halide::Expr &columns, const X &x) {
        using namespace Halide;
        const auto weight = [&](const Expr &k, const Expr &column) {
            return load_f32(weight_at(*weights_, layout_, panel_, k, column, columns));
        };
        if (copied_) {
            Var c{"col"}, i{"k"};
            (*copied_)(c, i) = weight(i, c);
        }
        accumulate(acc, group(), depth, [&](const Expr &k) { return x(k) * (copied_ ? Expr((*copied_)(col, k)) : weight(k, col)); });
        constrain_weights(*weights_, layout_, panel_, depth);
    }

    /** The same of x(k, part), summed over the parts of each k too: those of a number that instructions take in several. On the host. */
    template<typename X>
    void multiply_parts(const Halide::FuncRef &acc, const Halide::Expr &depth, int parts, const Halide::Expr &col,
                        const Halide::Expr &columns, const X &x) {
        using namespace Halide;
        accumulate_parts(acc, group(), depth, parts, [&](const Expr &k, const Expr &part) {
            return x(k, part) * load_f32(weight_at(*weights_, layout_, panel_, k, col, columns));
        });
        constrain_weights(*weights_, layout_, panel_, depth);
    }

    /** As multiply() for column j of panel p. Panels beyond the last are read as the last. */
    void multiply_panel(const Halide::FuncRef &acc, const Halide::Expr &depth, const Halide::Expr &j, const Halide::Expr &p,
                        const Halide::Expr &row, const Halide::Expr &columns) {
        if (blocks_) {
            blocks_->multiply(acc, depth, p * panel_ + j, row, columns);
        } else {
            multiply_panel(acc, depth, j, p, columns, [&](const Halide::Expr &k) { return (*rows_)(k, row); });
        }
    }

    /** The same with the row that x(k) gives, of weights that are not in blocks. */
    template<typename X>
    void multiply_panel(const Halide::FuncRef &acc, const Halide::Expr &depth, const Halide::Expr &j, const Halide::Expr &p,
                        const Halide::Expr &columns, const X &x) {
        using namespace Halide;
        if (layout_ != WeightLayout::kPacked) {
            multiply(acc, depth, p * panel_ + j, columns, x);
            return;
        }
        const Expr panel = min(p, (columns - 1) / panel_);
        accumulate(acc, group(), depth, [&](const Expr &k) {
            const Expr w = group() == 1 ? (*weights_)(0, j, k, panel) : (*weights_)(k % group(), j, k / group(), panel);
            return x(k) * load_f32(w);
        });
        constrain_weights(*weights_, layout_, panel_, depth);
    }

private:
    int group() const {
        return layout_ == WeightLayout::kPacked ? packed_group(weights_->type()) : 1;
    }

    WeightLayout layout_ = WeightLayout::kPacked;
    int panel_ = 0;
    BlockRows *rows_ = nullptr;
    Halide::GeneratorInput<Halide::Buffer<>> *weights_ = nullptr;
    std::optional<Halide::Func> copied_;
    std::optional<LinearBlocks> blocks_;
    std::vector<std::string> inputs_;
};

}  // namespace halyard

#endif
