#include <algorithm>
#include <set>

#include "lowering/accesses.h"
#include "lowering/cuda/tiles/block_program.h"
#include "lowering/cuda/tiles/expressions.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// A nest that gives a constant to registers.
bool is_constant(const TileNode &n) {
    return n.kind == TileNode::kNest && n.nest.kind == FusedNest::kTile &&
           std::all_of(n.nest.assignments.begin(), n.nest.assignments.end(),
                       [](const Assignment &a) { return !a.index.defined() && is_const(a.value); });
}

bool touches(const TileNode &n, const std::set<std::string> &names) {
    if (n.kind == TileNode::kProduct && (names.count(n.product.accumulator) || names.count(n.product.a.buffer))) {
        return true;
    }
    for (const auto &a : n.nest.assignments) {
        const auto loaded = accesses_of(a.value).loaded;
        if (names.count(a.stored) || std::any_of(loaded.begin(), loaded.end(), [&](const std::string &l) { return names.count(l) > 0; })) {
            return true;
        }
    }
    return n.body && std::any_of(n.body->begin(), n.body->end(), [&](const TileNode &inner) { return touches(inner, names); });
}

std::set<std::string> stored_by(const TileNode &n) {
    std::set<std::string> names;
    for (const auto &a : n.nest.assignments) {
        names.insert(a.stored);
    }
    return names;
}

// Products of tiles of device memory alone, in loops and under conditions: none needs another.
bool has_own_products(const BlockProgram &program, const TileNode &n) {
    if (n.kind == TileNode::kProduct) {
        return !program.held.count(n.product.a.buffer);
    }
    return n.body && !n.body->empty() &&
           std::all_of(n.body->begin(), n.body->end(), [&](const TileNode &inner) { return has_own_products(program, inner); });
}

std::set<std::string> sums_of(const TileNode &n) {
    std::set<std::string> names;
    if (n.kind == TileNode::kProduct) {
        names.insert(n.product.accumulator);
    }
    if (n.body) {
        for (const auto &inner : *n.body) {
            const auto more = sums_of(inner);
            names.insert(more.begin(), more.end());
        }
    }
    return names;
}

// The tensor whose rows the first product there multiplies.
std::string tensor_of_rows(const TileNode &n) {
    return n.kind == TileNode::kProduct ? n.product.a.buffer : tensor_of_rows(n.body->front());
}

bool same_header(const TileNode &x, const TileNode &y) {
    if (x.kind != y.kind || !x.body) {
        return false;
    }
    return x.kind == TileNode::kIf ? equal(x.condition, y.condition) : equal(x.min, y.min) && equal(x.extent, y.extent);
}

void join(const BlockProgram &program, TileBody &body) {
    for (size_t i = 0; i < body.size(); i++) {
        if (!body[i].body) {
            continue;
        }
        if (has_own_products(program, body[i])) {
            size_t next = i + 1;
            while (next < body.size() && is_constant(body[next]) && !touches(body[i], stored_by(body[next]))) {
                next++;
            }
            if (next < body.size() && same_header(body[i], body[next]) && has_own_products(program, body[next]) &&
                !touches(body[next], sums_of(body[i])) && tensor_of_rows(body[i]) == tensor_of_rows(body[next])) {
                TileBody more = *body[next].body;
                if (body[i].kind == TileNode::kLoop) {
                    const Expr turn = Variable::make(Int(32), body[i].loop);
                    mutate_expressions(more, [&](const Expr &e) { return substitute(body[next].loop, turn, e); });
                }
                body[i].body->insert(body[i].body->end(), more.begin(), more.end());
                body.erase(body.begin() + long(next));
                std::rotate(body.begin() + long(i), body.begin() + long(i) + 1, body.begin() + long(next));
                i--;
                continue;
            }
        }
        join(program, *body[i].body);
    }
}

void hoist(TileBody &body) {
    for (auto &n : body) {
        if (!n.body) {
            continue;
        }
        hoist(*n.body);
        TileNode &only = n.body->front();
        if (n.kind == TileNode::kLoop && n.body->size() == 1 && only.kind == TileNode::kIf && !expr_uses_var(only.condition, n.loop)) {
            TileNode branch = only, loop = n;
            loop.body = branch.body;
            branch.body = std::make_shared<TileBody>(TileBody{loop});
            n = branch;
        }
    }
}

}  // namespace

void hoist_conditions(BlockProgram &program) {
    hoist(program.body);
}

void join_loops(BlockProgram &program) {
    join(program, program.body);
}

}  // namespace halyard
