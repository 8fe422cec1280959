#include "language/motion.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

Motion sum(const Motion &a, const Motion &b) {
    const auto of = [](int x, int y) { return ((x | y) & kMoves) | (x & y & kStays); };
    return {of(a.low, b.low), of(a.high, b.high)};
}

// Where reductions end, as before what moves: r < col. Of several ends one that moves is enough.
void find_ends(const Expr &condition, const Motions &variables, std::map<std::string, int> &ends) {
    if (const auto *both = condition.as<And>()) {
        find_ends(both->a, variables, ends);
        find_ends(both->b, variables, ends);
    }
    const auto *lt = condition.as<LT>();
    const auto *le = condition.as<LE>();
    const Expr a = lt ? lt->a : le ? le->a : Expr(), b = lt ? lt->b : le ? le->b : Expr();
    const auto *least = a.defined() ? a.as<Variable>() : nullptr;
    if (least && !variables.count(least->name)) {
        // What is needed grows with such an end, however that moves.
        int &end = ends.insert({least->name, kStays}).first->second;
        end = motion_of(b, variables).high == kStays ? end : kMoves;
    }
}

}  // namespace

Motion either(const Motion &a, const Motion &b) {
    return {a.low | b.low, a.high | b.high};
}

Motion motion_of(const Expr &e, const Motions &variables) {
    if (const auto *op = e.as<Variable>()) {
        const auto it = variables.find(op->name);
        return it == variables.end() ? Motion() : it->second;
    }
    if (const auto *op = e.as<Cast>()) {
        return motion_of(op->value, variables);
    }
    if (const auto *op = e.as<Min>()) {
        return either(motion_of(op->a, variables), motion_of(op->b, variables));
    }
    if (const auto *op = e.as<Max>()) {
        return either(motion_of(op->a, variables), motion_of(op->b, variables));
    }
    if (const auto *op = e.as<Select>()) {
        return either(motion_of(op->true_value, variables), motion_of(op->false_value, variables));
    }
    if (const auto *op = e.as<Add>()) {
        return sum(motion_of(op->a, variables), motion_of(op->b, variables));
    }
    if (const auto *op = e.as<Sub>()) {
        const Motion b = motion_of(op->b, variables);
        return sum(motion_of(op->a, variables), {b.high, b.low});
    }
    const auto *mul = e.as<Mul>();
    const auto *div = e.as<Div>();
    if (mul && is_positive_const(mul->b)) {
        return motion_of(mul->a, variables);
    }
    if (div && is_positive_const(div->b)) {
        return motion_of(div->a, variables);
    }
    for (const auto &[name, motion] : variables) {
        if (!(motion == Motion()) && expr_uses_var(e, name)) {
            return {kMoves, kMoves};  // in no one way: Halide slides no window over it
        }
    }
    return Motion();
}

void add_bounds(const Expr &condition, Motions &variables) {
    std::map<std::string, int> ends;
    find_ends(condition, variables, ends);
    for (const auto &[reduction, end] : ends) {
        variables[reduction] = {kStays, end};
    }
}

}  // namespace halyard
