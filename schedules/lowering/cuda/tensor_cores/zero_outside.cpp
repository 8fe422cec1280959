#include "lowering/cuda/tensor_cores/zero_outside.h"

#include <algorithm>
#include <numeric>

#include "lowering/cuda/tensor_cores/coordinates.h"
#include "lowering/cuda/tensor_cores/tile_parts.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

void split(const Expr &e, std::vector<Expr> &conditions) {
    if (const auto *both = e.as<And>()) {
        split(both->a, conditions);
        split(both->b, conditions);
    } else if (!is_const_one(e)) {
        conditions.push_back(e);
    }
}

// What has to be at least 0 for a comparison to hold.
Expr at_least_zero(const Expr &e) {
    if (const auto *le = e.as<LE>()) {
        return le->b - le->a;
    }
    if (const auto *lt = e.as<LT>()) {
        return lt->b - lt->a - 1;
    }
    if (const auto *ge = e.as<GE>()) {
        return ge->a - ge->b;
    }
    if (const auto *gt = e.as<GT>()) {
        return gt->a - gt->b - 1;
    }
    return Expr();
}

// An expression that is at least 0 where e is, its terms without a factor that they have in common.
Linear reduced(const Expr &e) {
    Linear sum = linear(e);
    int64_t common = 0;
    for (const auto &t : sum.terms) {
        common = std::gcd(common, t.factor);
    }
    if (common > 1) {
        for (auto &t : sum.terms) {
            t.factor /= common;
        }
        sum.constant = div_imp(sum.constant, common);
    }
    return sum;
}

bool same(const Expr &x, const Expr &y) {
    const Linear difference = linear(x - y);
    return difference.terms.empty() && difference.constant == 0;
}

// Whether e is min(x, y).
bool is_less_of(const Expr &e, const Expr &x, const Expr &y) {
    const auto *less = e.as<Min>();
    return less && ((same(less->a, x) && same(less->b, y)) || (same(less->a, y) && same(less->b, x)));
}

// Whether the condition is that e is at least 0.
bool says(const Expr &condition, const Expr &e) {
    const Expr least = at_least_zero(condition);
    if (!least.defined()) {
        return false;
    }
    return same(reduced(least).expr(), reduced(e).expr());
}

class FindEdge : public IRVisitor {
    using IRVisitor::visit;

    template<typename Op>
    void look(const Op *op, bool below) {
        for (const Expr &side : {op->a, op->b}) {
            const bool of_rows = std::any_of(rows.begin(), rows.end(), [&](const std::string &r) { return expr_uses_var(side, r); });
            FreeVariables free;
            side.accept(&free);
            const bool reduced = std::any_of(free.types.begin(), free.types.end(), [&](const auto &v) {
                return v.first.compare(0, stage.size(), stage) == 0 && !std::count(rows.begin(), rows.end(), v.first);
            });
            found = found || (of_rows && (below || reduced));
        }
        IRVisitor::visit(op);
    }

    void visit(const Min *op) override {
        look(op, false);
    }
    void visit(const Max *op) override {
        look(op, true);
    }

    const std::vector<std::string> &rows;
    const std::string &stage;

public:
    explicit FindEdge(const ProductLoops &product) : rows(product.rows), stage(product.stage) {}
    bool found = false;
};

// Variables that move a coordinate: all but what is known of the buffer.
std::vector<std::string> moving(const Expr &index, const std::string &buffer) {
    FreeVariables free;
    index.accept(&free);
    std::vector<std::string> names;
    for (const auto &v : free.types) {
        if (v.first.compare(0, buffer.size() + 1, buffer + ".") != 0) {
            names.push_back(v.first);
        }
    }
    return names;
}

}  // namespace

bool reads_edge(const Expr &at, const ProductLoops &product) {
    FindEdge edge(product);
    at.accept(&edge);
    return edge.found;
}

std::optional<std::vector<Expr>> zero_outside(const Expr &inside, const Expr &index, const std::string &buffer, const ProductLoops &product,
                                              const CoordinatesOf &coordinates_of) {
    const auto read = coordinates_of(index, buffer), kept = coordinates_of(without_clamps(index, product.all), buffer),
               free = coordinates_of(without_clamps(index, moving(index, buffer)), buffer);
    if (!read || !kept || !free) {
        return std::nullopt;
    }
    std::vector<Expr> conditions, all;
    split(substitute_in_all_lets(inside), conditions);
    std::vector<bool> used(conditions.size(), false);
    const auto asked = [&](const Expr &e) {
        bool found = false;
        for (size_t i = 0; i < conditions.size(); i++) {
            if (says(conditions[i], e)) {
                used[i] = found = true;
            }
        }
        return found;
    };
    for (size_t d = 0; d < read->size(); d++) {
        const Expr &at = (*free)[d];
        const Expr extent = Variable::make(Int(32), buffer + ".extent." + std::to_string(d));
        const bool first = asked(at), last = asked(extent - 1 - at);
        // What begins in the buffer needs no more than its end.
        const bool ends = last && is_less_of((*read)[d], at, extent - 1);
        const bool clamped = !ends && !equal((*read)[d], at);
        if (clamped && !(first && last) && (first || last || reads_edge((*read)[d], product))) {
            return std::nullopt;
        }
        all.push_back(first || last ? at : (*kept)[d]);
    }
    return std::count(used.begin(), used.end(), false) > 0 ? std::nullopt : std::make_optional(all);
}

}  // namespace halyard
