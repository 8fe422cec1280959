#include "lowering/cuda/tiles/expressions.h"

namespace halyard {

using namespace Halide;

namespace {

using Mutate = std::function<Expr(const Expr &)>;

void mutate_in(Expr &e, const Mutate &mutate) {
    if (e.defined()) {
        e = mutate(e);
    }
}

void mutate_in(Operand &o, const Mutate &mutate) {
    for (auto &c : o.origin) {
        mutate_in(c, mutate);
    }
    for (Expr *e : {&o.end, &o.line, &o.counts, &o.value}) {
        mutate_in(*e, mutate);
    }
    for (auto &s : o.sources) {
        mutate_in(s, mutate);
    }
}

}  // namespace

void mutate_own_expressions(TileNode &n, const Mutate &mutate) {
    for (Expr *e : {&n.min, &n.extent, &n.condition, &n.product.left, &n.nest.row_extent, &n.nest.column_extent, &n.nest.counts}) {
        mutate_in(*e, mutate);
    }
    for (Operand *o : {&n.product.a, &n.product.b}) {
        mutate_in(*o, mutate);
    }
    for (auto &a : n.nest.assignments) {
        mutate_in(a.value, mutate);
        mutate_in(a.index, mutate);
    }
}

void mutate_expressions(TileBody &body, const Mutate &mutate) {
    for (auto &n : body) {
        mutate_own_expressions(n, mutate);
        if (n.body) {
            mutate_expressions(*n.body, mutate);
        }
    }
}

}  // namespace halyard
