#include "mma_task.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

std::pair<Expr, Expr> TileTask::next(Expr start, Expr same) const {
    const std::pair<Expr, Expr> none = {Expr(-1), Expr(1)};
    Expr calls = 1;
    for (auto a = around.rbegin(); a != around.rend() && same.defined(); ++a) {
        if (a->name.empty()) {
            same += cast<int>(a->value);
        } else if (!a->extent.defined()) {
            start = substitute(a->name, a->value, start);
            same = substitute(a->name, a->value, same);
            calls = substitute(a->name, a->value, calls);
        } else if (expr_uses_var(start, a->name)) {
            const Expr behind = Variable::make(Int(32), a->name) + 1;
            if (expr_uses_var(same, a->name) || expr_uses_var(calls, a->name)) {
                return none;
            }
            return {select(behind < a->value + a->extent, substitute(a->name, behind, start), -1), max(calls, 1)};
        } else {
            calls = calls * a->extent;
        }
    }
    return none;
}

}  // namespace halyard
