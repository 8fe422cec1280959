// The most probable token: the first of the largest logits of each row, -1 where one is NaN.

#include <Halide.h>

#include "math/compare.h"
#include "math/order.h"

namespace {

using namespace Halide;
using namespace halyard;

class Largest : public Generator<Largest> {
public:
    Input<Buffer<float, 2>> logits{"logits"};   // [vocabulary, rows]
    Output<Buffer<int32_t, 1>> token{"token"};  // [rows]

    void generate() {
        // A logit and its place in one number, larger for an earlier one of equals.
        const RDom r(0, logits.dim(0).extent(), "col");
        const Expr logit = logits(r, row), raised = cast<uint32_t>(order_key(logit)) ^ Expr(uint32_t(0x80000000));
        const Expr key = (cast<uint64_t>(raised) << cast<uint64_t>(32)) | cast<uint64_t>(cast<uint32_t>(-1 - r));
        best(row) = cast<uint64_t>(0);
        best(row) = max(best(row), key);
        const Expr place = -1 - cast<int32_t>(cast<uint32_t>(best(row)));
        const Expr at = clamp(place, 0, max(logits.dim(0).extent() - 1, 0));
        token(row) = select(is_nan_f32(logits(at, row)), -1, place);
        logits.dim(0).set_min(0);
        logits.dim(1).set_bounds(token.dim(0).min(), token.dim(0).extent());
    }

private:
    Var row{"row"};
    Func best{"best"};
};

}  // namespace

HALIDE_REGISTER_GENERATOR(Largest, largest)
