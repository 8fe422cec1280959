#include "lowering/host/mma_task.h"

#include <algorithm>

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

std::vector<Expr> TileTask::at_begin(std::vector<Expr> values) const {
    for (Expr &v : values) {
        for (auto a = around.rbegin(); a != around.rend(); ++a) {
            if (a->name.empty()) {
                continue;
            }
            if (a->extent.defined() && expr_uses_var(v, a->name)) {
                return {};
            }
            v = substitute(a->name, a->value, v);
        }
        v = simplify(v);
    }
    return values;
}

TileTask::Turn TileTask::following(std::vector<Expr> values, const std::set<std::string> &operands) const {
    struct Step {
        Expr more;
        Turn turn;
    };
    std::vector<Step> steps;  // of the loops, the innermost first: the next turn, where there are more, else that of the next loop
    Expr under = const_true();
    const auto all = [&](const std::string &name, const Expr &value) {
        for (Expr &v : values) {
            v = substitute(name, value, v);
        }
        under = substitute(name, value, under);
    };
    for (auto a = around.rbegin(); a != around.rend(); ++a) {
        if (a->name.empty()) {
            under = under && a->value;
        } else if (!a->extent.defined()) {
            all(a->name, a->value);
        } else {
            const auto written = [&](const std::string &name) { return a->writes.count(name) > 0; };
            if (std::any_of(operands.begin(), operands.end(), written)) {
                break;
            }
            const Expr behind = Variable::make(Int(32), a->name) + 1;
            Turn turn{substitute(a->name, behind, under), {}};
            for (const Expr &v : values) {
                turn.values.push_back(substitute(a->name, behind, v));
            }
            steps.push_back({behind < a->value + a->extent, std::move(turn)});
            all(a->name, a->value);
            under = under && a->extent > 0;
        }
    }
    Turn next{const_false(), std::vector<Expr>(values.size(), 0)};
    for (auto s = steps.rbegin(); s != steps.rend(); ++s) {
        next.there = select(s->more, s->turn.there, next.there);
        for (size_t i = 0; i < values.size(); i++) {
            next.values[i] = select(s->more, s->turn.values[i], next.values[i]);
        }
    }
    next.there = simplify(next.there);
    for (Expr &v : next.values) {
        v = simplify(v);
    }
    return next;
}

}  // namespace halyard
