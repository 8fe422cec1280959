// Cross-entropy of a softmax: loss = log(sum over columns of e^logit) - logit[label], for each row.
// With label smoothing s, the target has 1 - s + s/cols at the label and s/cols elsewhere (Szegedy et al. 2016). A column whose
// target is 0 does not count.
// A row whose label is ignore_index has loss 0; one whose label is no column, NaN.
//
// With `parts`, a row is read once: its columns go in pieces of `piece` vectors to so many parts in turn, and each
// part keeps the largest so far and the sum of exponentials relative to it (Milakov and Gimelshein, Online normalizer
// calculation for softmax, 2018). A piece is reduced by itself first, so that a part rescales its sum once a piece.

#include <limits>

#include <Halide.h>

#include "math/compare.h"
#include "math/elements.h"
#include "math/exp.h"
#include "math/number.h"
#include "math/open_number.h"
#include "math/own_rounding.h"

namespace {

using namespace Halide;
using namespace halyard;

constexpr int kMostParts = 1 << 16;

class CrossEntropy : public Generator<CrossEntropy> {
public:
    GeneratorParam<Type> type{"type", Float(32)};  // of the logits: float32, float16 or bfloat16
    GeneratorParam<bool> smoothed{"smoothed", false};
    /** That share a row, each with a maximum of its own. 0: two passes; -1: the parameter "shares" of the schedule. */
    Number parts{"parts", 0, kOpen, kMostParts};
    Number vector{"vector", 8, 1, 64};  // neighbouring columns that a part takes
    /** Such vectors between which a part keeps its maximum. -1: the parameter "vectors" of the schedule. */
    Number piece{"piece", 4, kOpen, 64};

    Input<Buffer<void, 2>> logits{"logits"};     // [cols, rows]
    Input<Buffer<int32_t, 1>> labels{"labels"};  // [rows]
    Input<int32_t> ignore_index{"ignore_index"};
    Input<float> *label_smoothing = nullptr;
    Output<Buffer<float, 1>> loss{"loss"};  // [rows]

    void configure() {
        logits.set_type(storage_type(type));
        if (smoothed) {
            label_smoothing = add_input<float>("label_smoothing");
        }
    }

    void generate() {
        const Expr cols = logits.width(), first = logits.dim(0).min();
        x(col, row) = load_f32(logits(col, row));
        RDom r(first, cols, "col");
        if (parts != 0) {
            share_row(first, cols);
        } else {
            row_max(row) = Float(32).min();
            row_max(row) = max(row_max(row), x(r, row));
        }
        const Expr top = select(is_minus_infinity_f32(row_max(row)), 0.0f, row_max(row));
        if (parts == 0) {
            row_sum(row) += exp_f32(x(r, row) - top, get_target());
        }
        // Halide's logarithm makes a number of NaN. Where all is -infinity, no column has a probability.
        log_sum(row) = select(is_zero_f32(row_sum(row)) || is_nan_f32(row_sum(row)), nan(), Halide::log(row_sum(row)));
        const Expr label = labels(row);
        // No distance is above 0; the min keeps fast-math from adding top to log_sum first, where the digits of
        // a small loss would be lost. A NaN that it drops is in the sum.
        const Expr at_label = min(x(first + clamp(label, 0, max(cols - 1, 0)), row) - top, 0.0f);
        Expr v = log_sum(row) - at_label;
        if (smoothed) {
            // Of shares of the distances: a sum of them whole leaves f32 long before their mean does. The min around the product
            // keeps fast-math from taking the factor out of the sum.
            sum(row) += min((x(r, row) - top) * (1.0f / cast<float>(cols)), 0.0f);
            const Expr of_label = weighed(at_label, 1.0f - *label_smoothing), of_others = weighed(sum(row), *label_smoothing);
            v = own_sum(log_sum(row), -own_sum(of_label, of_others, get_target()), get_target());
        }
        loss(row) = select(label == ignore_index, 0.0f, label < 0 || label >= cols, nan(), v);
    }

private:
    // Maxima start from the lowest number, so that no difference of two of them is NaN.
    void share_row(const Expr &first, const Expr &cols) {
        const Expr lowest = -std::numeric_limits<float>::max();
        const int neighbours = vector;
        const Expr vectors = number_or_open(piece, "vectors", 1, 64), shares = number_or_open(parts, "shares", 1, kMostParts);
        const Expr taken = neighbours * vectors * shares;  // columns of a step
        RDom p({{0, neighbours}, {0, vectors}}, "piece");
        // A schedule may compute steps and parts that nobody asks for, also before the first.
        const Expr column = ((max(step, 0) * vectors + p.y) * shares + max(part, 0)) * neighbours + p.x;
        p.where(likely(column < cols));
        // Vectors of it, which a clamp would take apart.
        const Expr real = first + unsafe_promise_clamped(column, 0, cols - 1);
        piece_max(step, part, row) = lowest;
        piece_max(step, part, row) = max(piece_max(step, part, row), x(real, row));
        piece_sum(step, part, row) += exp_f32(x(real, row) - piece_max(step, part, row), get_target());

        RDom s(0, (cols + (taken - 1)) / taken, "step");
        running(part, row) = Tuple(lowest, 0.0f);
        const Expr old = running(part, row)[0], of_piece = piece_max(s, part, row), both = max(old, of_piece);
        running(part, row) = Tuple(both, running(part, row)[1] * exp_f32(old - both, get_target()) +
                                             piece_sum(s, part, row) * exp_f32(of_piece - both, get_target()));

        RDom all(0, shares, "part");
        row_max(row) = lowest;
        row_max(row) = max(row_max(row), running(all, row)[0]);
        part_sum(part, row) = running(part, row)[1] * exp_f32(running(part, row)[0] - row_max(row), get_target());
        row_sum(row) += part_sum(all, row);
    }

    // What has no weight does not count, not even where it is -infinity.
    Expr weighed(const Expr &x, const Expr &weight) const {
        return select(is_zero_f32(weight), 0.0f, own_product(x, weight, get_target()));
    }

    static Expr nan() {
        return reinterpret<float>(Expr(0x7fc00000));
    }

    Var col{"col"}, row{"row"}, step{"step"}, part{"part"};
    Func x{"x"}, row_max{"row_max"}, row_sum{"row_sum"}, log_sum{"log_sum"}, sum{"sum"};
    Func piece_max{"piece_max"}, piece_sum{"piece_sum"}, running{"running"}, part_sum{"part_sum"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(CrossEntropy, cross_entropy)
