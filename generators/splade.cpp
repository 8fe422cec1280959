// The head of SPLADE (Formal et al. 2021): a weight for each word of the vocabulary from the hidden
// states of a sequence, y = max over the sequence of log(1 + relu(x w + bias)).
//
// log(1 + relu(t + bias)) grows with t, so the maximum is taken first, of the product itself: bias and
// logarithm are computed once a word, and the logits of the sequence need not exist.

#include <Halide.h>

#include "math/elements.h"
#include "math/log.h"
#include "math/number.h"
#include "math/open_number.h"
#include "math/order.h"
#include "math/linear.h"
#include "math/own_rounding.h"
#include "math/unread.h"

namespace {

using namespace Halide;
using namespace halyard;

class Splade : public Generator<Splade> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // float32, float16 or bfloat16
    GeneratorParam<WeightLayout> weights{"weights", WeightLayout::kPacked, linear_layouts()};
    Number panel{"panel", 48, 1, 1024};
    /** Positions go by in blocks, so that a schedule can keep the product of one block only. kOpen: of as many as the
     * schedule's parameter `columns` says. */
    Number block_size{"block", 8, kOpen, 4096};
    GeneratorParam<bool> add_bias{"add_bias", true};
    GeneratorParam<bool> masked{"masked", true};  // by lengths

    Input<Buffer<void, 3>> x{"x"};  // [k, positions, batch]
    Linear w;
    Input<Buffer<>> *bias = nullptr;     // [vocab]
    Input<Buffer<>> *lengths = nullptr;  // [batch]: positions from there on do not count
    Input<int32_t> positions{"positions"};
    Output<Buffer<void, 2>> y{"y"};  // [vocab, batch]

    void configure() {
        x.set_type(storage_type(type));
        y.set_type(type);
        w.add_to(*this, "w", weights, panel, type, get_target());
        if (add_bias) {
            bias = add_input<Buffer<>>("bias", type, 1);
        }
        if (masked) {
            lengths = add_input<Buffer<>>("lengths", Int(32), 1);
        }
    }

    void generate() {
        const Expr block = number_or_open(block_size, "columns", 1, 4096);
        read_only_if(*this, positions > 0, {"x"});
        const Expr length = masked ? min((*lengths)(n), positions) : Expr(positions);
        x_blocks(k, i, s, n) = x(k, min(s * block + i, positions - 1), n);
        x_f(k, i, s, n) = load_f32(x_blocks(k, i, s, n));
        w.multiply(acc(col, i, s, n), x.dim(0).extent(), col, y.dim(0).max() + 1, [&](const Expr &d) { return x_f(d, i, s, n); });

        RDom r({{0, block}, {0, (positions + (block - 1)) / block}}, "r");
        const Expr position = r.y * block + r.x;
        r.where(r.y * block < length);
        // As integers in the order of the numbers, so that a NaN is not lost in the maximum.
        top(col, n) = lowest_order();
        top(col, n) = max(top(col, n), select(position < length, order_key(acc(col, r.x, r.y, n)), lowest_order()));

        Expr logit = from_order_key(top(col, n));
        if (add_bias) {
            logit = own_sum(logit, load_f32((*bias)(col)), get_target());
        }
        // relu in the order of integers, as a NaN has to stay one.
        y(col, n) = store_as(type, log1p_f32(from_order_key(max(order_key(logit), 0))));
    }

private:
    Var col{"col"}, i{"i"}, s{"s"}, n{"n"}, k{"k"};
    Func x_blocks{"x_blocks"}, x_f{"x_f"}, acc{"acc"}, top{"top"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Splade, splade)
