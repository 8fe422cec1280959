// SwiGLU and its kin: y = activation(x w_gate + bias_gate) * (x w_up + bias_up), both products of the same x.
// Shazeer, GLU Variants Improve Transformer, 2020.

#include <string>
#include <vector>

#include <Halide.h>

#include "math/activation.h"
#include "math/block_rows.h"
#include "math/elements.h"
#include "math/linear.h"
#include "math/number.h"
#include "math/own_rounding.h"
#include "math/own_scale.h"
#include "math/quantize.h"
#include "math/unread.h"

namespace {

using namespace Halide;
using namespace halyard;

class Swiglu : public Generator<Swiglu> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    GeneratorParam<WeightLayout> weights{"weights", WeightLayout::kPacked, layouts_with_blocks()};
    Number panel{"panel", 48, 1, 1024};
    BlockParams blocks;
    GeneratorParam<bool> add_bias{"add_bias", false};
    GeneratorParam<Activation> activation{"activation", Activation::kSilu, activations()};
    GeneratorParam<OutputType> output{"output", OutputType::kSame, output_types()};
    /** Of an 8-bit output. tensor: y_scale and y_zero_point are given. row: h / row_scale(row), where h is rounded to `type`; it goes out
     * too and takes the largest of the row to the largest of the type; block: the same of each 128 columns of a row. */
    GeneratorParam<ScaleOf> scaling{"scaling", ScaleOf::kTensor, scales_of()};

    Input<Buffer<void, 2>> x{"x"};  // [k, m]
    Linear w_gate, w_up;
    Input<Buffer<>> *bias_gate = nullptr, *bias_up = nullptr;  // [n]
    Stored stored;
    Output<Buffer<void, 2>> y{"y"};  // [n, m]
    OwnScale own_scale;              // [m], or [ceil(n / 128), m]

    void configure() {
        x.set_type(storage_type(type));
        y.set_type(stored_type(output, storage_type(type)));
        w_gate.add_to(*this, "w_gate", weights, panel, blocks, rows, type, get_target());
        w_up.add_to(*this, "w_up", weights, panel, blocks, rows, type, get_target());
        if (add_bias) {
            bias_gate = add_input<Buffer<>>("bias_gate", type, 1);
            bias_up = add_input<Buffer<>>("bias_up", type, 1);
        }
        own_scale.add_to(*this, output, scaling);
        if (!own_scale) {
            stored.add_to(*this, "y", output, type);
        }
    }

    void generate() {
        need_rows(*this, get_target(), "x", x.dim(1), y.dim(1));
        x_f(k, row) = load_f32(x(k, row_at(x, row, get_target())));
        rows.define(x_f);
        const Expr columns = y.dim(0).max() + 1;
        w_gate.multiply(gate(col, row), x.width(), col, row, columns);
        w_up.multiply(up(col, row), x.width(), col, row, columns);
        Expr g = gate(col, row), u = up(col, row);
        if (add_bias) {
            g = own_sum(g, load_f32((*bias_gate)(col)), get_target());
            u = own_sum(u, load_f32((*bias_up)(col)), get_target());
        }
        activated(col, row) = activate(activation, g, get_target(), own_scale ? Float(32) : stored_type(output, type));
        const Expr product = own_product(activated(col, row), u, get_target());
        if (!own_scale) {
            y(col, row) = stored(product, get_target());
            return;
        }
        h(col, row) = store_as(type, product);
        const auto h_at = [&](const Expr &at) { return load_f32(h(at, row)); };
        y(col, row) = own_scale(h_at, 1.0f, col, row, y.dim(0).extent(), y, get_target());
        y.dim(0).set_min(0);
        std::vector<std::string> of_columns = {"bias_gate", "bias_up"};
        for (const Linear *w : {&w_gate, &w_up}) {
            of_columns.insert(of_columns.end(), w->inputs().begin(), w->inputs().end());
        }
        read_only_if(*this, columns > 0, of_columns, Granted::kNo);
    }

private:
    Var col{"col"}, row{"row"}, k{"k"};
    BlockRows rows{"x"};
    Func x_f{"x_f"}, gate{"gate"}, up{"up"}, activated{"activated"}, h{"h"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Swiglu, swiglu)
