// A product of a few rows with weights in interleaved blocks (math/blocks.h), and what stands around it in a decoder:
//
//   y = x w + residual                                 x as it is, or divided by its rms and multiplied by the weights of the norm:
//   y = activation(x w_gate) * (x w_up)                gate's columns lie before those of up in one matrix
//
// Of a norm the sum of the squares is made beside the products, and divides the sums: sum(x g w) / rms(x).

#include <Halide.h>

#include "math/activation.h"
#include "math/blocks.h"
#include "math/elements.h"
#include "math/number.h"
#include "math/open_number.h"
#include "math/panel_weights.h"
#include "math/weights.h"

namespace {

using namespace Halide;
using namespace halyard;

class Product : public Generator<Product> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // of x: float32, float16 or bfloat16
    GeneratorParam<BlockFormat> format{"format", BlockFormat::kQ4_0, block_formats()};
    Number interleaved{"interleaved", 16, 8, 32};  // columns whose blocks are
    Number parts{"parts", 8, 1, 32};               // threads that share the depth
    GeneratorParam<bool> normed{"normed", false};
    GeneratorParam<bool> gated{"gated", false};
    GeneratorParam<Activation> activation{"activation", Activation::kSilu, activations()};  // of gate

    Input<Buffer<void, 2>> x{"x"};         // [k, m]
    BlockWeights b;                        // k x n, gated k x 2 n
    Input<Buffer<float>> *norm = nullptr;  // [k]
    Input<float> *eps = nullptr;
    Input<Buffer<float>> *residual = nullptr;  // [n, m]
    Output<Buffer<float, 2>> y{"y"};           // [n, m]

    void configure() {
        x.set_type(storage_type(type));
        b.interleave(interleaved);
        b.add_to(*this, "b", format, BlockWeights::kBlock, false);
        if (normed) {
            norm = add_input<Buffer<float>>("norm", 1);
            eps = add_input<float>("eps");
        }
        if (!gated) {
            residual = add_input<Buffer<float>>("residual", 2);
        }
    }

    void generate() {
        const Expr depth = x.width(), columns = y.width();
        add_requirement(depth % b.multiple() == 0, "product: k is", depth, "and not a multiple of", b.multiple());
        add_requirement(b.interleaved_columns() >= (gated ? 2 : 1) * columns, "product:", b.name(), "has", b.interleaved_columns(),
                        "columns, and y", columns);
        need_rows(*this, get_target(), "x", x.dim(1), y.dim(1));
        PanelSums sums(*this, "product", depth, parts, number_or_open(kOpen, "turns", 1, 16), number_or_open(kOpen, "rounds", 0, 1));
        x_f(sums.member, sums.half, sums.group, sums.turn, sums.part, sums.row) =
            load_f32(x(sums.at(sums.place()), row_at(x, sums.row, get_target())));
        if (normed) {
            norm_f(sums.member, sums.half, sums.group, sums.turn, sums.part) = (*norm)(sums.at(sums.place()));
        }
        const std::vector<Var> of_block = {sums.turn, sums.part};
        std::vector<PanelWeights> weights = {PanelWeights(b, "w", of_block, sums.block(sums.turn, sums.part))};
        if (gated) {
            weights.emplace_back(b, "w_up", of_block, sums.block(sums.turn, sums.part));
        }
        sums.define(partial, gathered, [&](const PanelPlace &p) {
            const Expr xf = x_f(p.member, p.half, p.group, p.turn, p.part, sums.row);
            const Expr a = normed ? xf * norm_f(p.member, p.half, p.group, p.turn, p.part) : xf;
            std::vector<Expr> terms;
            for (size_t i = 0; i < weights.size(); i++) {
                const Expr of_weights = sums.panel + int(i) * (columns / interleaved);
                terms.push_back(a * weights[i].element(p.member, p.group, p.half, p.turn, p.part, sums.lane, of_weights));
            }
            if (normed) {
                terms.push_back(xf * xf);
            }
            return terms;
        });
        const auto sum_of = [&](size_t i) { return sums.sum(i, col % interleaved, col / interleaved, row); };
        const auto sum = [&](size_t i) {
            return normed ? sum_of(i) * (1.0f / sqrt(sum_of(weights.size()) / cast<float>(depth) + *eps)) : sum_of(i);
        };
        y(col, row) = gated ? activate(activation, sum(0), get_target()) * sum(1) : sum(0) + (*residual)(col, row);

        x.dim(0).set_min(0);
        // Columns of gate and up are the same ones of their panels, as the next product has blocks along them.
        y.dim(0).set_bounds(0, gated ? columns / BlockWeights::kBlock * BlockWeights::kBlock : columns);
        if (normed) {
            norm->dim(0).set_bounds(0, depth);
        }
        b.constrain(depth);
    }

private:
    Var col{"col"}, row{"row"};
    Func x_f{"x_f"}, norm_f{"norm_f"}, partial{"partial"}, gathered{"gathered"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Product, product)
