#ifndef HALYARD_MATH_PANEL_LOGITS_H
#define HALYARD_MATH_PANEL_LOGITS_H

/** \file
 * Logits x w + bias whose columns are cut into panels, for reductions over very many columns: where
 * the logits exist, all of them or one panel of a few rows, is then a schedule's decision.
 */

#include <limits>
#include <string>
#include <vector>

#include <Halide.h>

#include "math/block_rows.h"
#include "math/elements.h"
#include "math/linear.h"
#include "math/unread.h"

namespace halyard {

class PanelLogits {
public:
    /** Adds w, bias [n] where wanted, and `columns`: n, which the padding of packed weights hides. */
    void add_to(Halide::Internal::GeneratorBase &generator, WeightLayout layout, int panel, const BlockParams &blocks,
                const Halide::Type &type, bool add_bias, const Halide::Target &target) {
        panel_ = panel;
        target_ = target;
        weights_.add_to(generator, "w", layout, panel, blocks, rows_, type, target);
        columns_ = generator.add_input<int>("columns");
        generator_ = &generator;
        if (add_bias) {
            bias_ = generator.add_input<Halide::Buffer<>>("bias", type, 1);
        }
    }

    /** What the caller says that there are. */
    Halide::Expr columns_given() const {
        return *columns_;
    }

    /** x [k, m]. Column j of panel p is column p * panel + j. */
    void define(const Halide::GeneratorInput<Halide::Buffer<void, 2>> &x) {
        using namespace Halide;
        const Expr depth = x.dim(0).extent();
        columns = *columns_;
        // Whole panels of them are counted in 32 bits.
        const int most = std::numeric_limits<int32_t>::max() - panel_;
        generator_->add_requirement(columns >= 0 && columns <= most, "columns is", columns, "but must be from 0 to", most);
        std::vector<std::string> of_columns = weights_.inputs();
        of_columns.push_back("bias");
        read_only_if(*generator_, columns > 0, of_columns);
        panels = (columns + (panel_ - 1)) / panel_;
        x_f(d, row) = load_f32(x(d, row_at(x, row, target_)));
        rows_.define(x_f);
        weights_.multiply_panel(acc(j, row, p), depth, j, p, row, columns);
        Expr v = acc(j, row, p);
        if (bias_) {
            v = v + load_f32((*bias_)(min(column(j, p), columns - 1)));
        }
        logits(j, row, p) = v;
    }

    Halide::Expr column(const Halide::Expr &column_in_panel, const Halide::Expr &panel) const {
        return panel * panel_ + column_in_panel;
    }
    Halide::Expr exists(const Halide::Expr &column_in_panel, const Halide::Expr &panel) const {
        return column(column_in_panel, panel) < columns;
    }

    Halide::Var j{"j"}, row{"row"}, p{"p"}, d{"k"};
    Halide::Func x_f{"x_f"}, acc{"acc"}, logits{"logits"};
    Halide::Expr columns, panels;

private:
    Halide::Internal::GeneratorBase *generator_ = nullptr;
    int panel_ = 0;
    Halide::Target target_;
    Linear weights_;
    BlockRows rows_{"x"};
    Halide::GeneratorInput<int> *columns_ = nullptr;
    Halide::GeneratorInput<Halide::Buffer<>> *bias_ = nullptr;
};

}  // namespace halyard

#endif
