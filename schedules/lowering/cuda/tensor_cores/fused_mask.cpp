#include "lowering/cuda/tensor_cores/fused_mask.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

Mask take_mask(std::vector<FusedNest> &nests, const FusedParts &parts, bool any) {
    class Take : public IRMutator {
        using IRMutator::visit;

        Expr visit(const Select *op) override {
            const bool usually = is_const(op->false_value);
            const auto *load = (usually ? op->true_value : op->false_value).as<Load>();
            if (!load || load->name != sums || (value.defined() && !equal(value, op))) {
                return IRMutator::visit(op);
            }
            value = op;
            return load;
        }
        Expr visit(const Load *op) override {
            others = others || op->name == sums;
            return op;
        }

        const std::string &sums;

    public:
        explicit Take(const std::string &sums) : sums(sums) {}
        Expr value;
        bool others = false;
    };
    Take take(parts.first.accumulator);
    std::vector<FusedNest> without = nests;
    for (auto &n : without) {
        for (auto &a : n.assignments) {
            a.value = take.mutate(a.value);
        }
    }
    if (!take.value.defined() || take.others) {
        return {};
    }
    const auto *select = take.value.as<Select>();
    if (!any && !expr_uses_var(select->condition, kChainRow)) {
        return {};
    }
    Scope<Interval> tile;
    tile.push(kChainRow, Interval(0, parts.rows - 1));
    tile.push(kChainColumn, Interval(0, parts.first.columns - 1));
    const Expr keeps = is_const(select->false_value) ? select->condition : !select->condition;
    nests = without;
    return {take.value, simplify(and_condition_over_domain(simplify(keeps), tile))};
}

Expr without_selects(const std::vector<FusedNest> &nests, int rows, std::vector<FusedNest> *without) {
    Expr whole;
    class Assume : public IRMutator {
        using IRMutator::visit;

        Expr visit(const Select *op) override {
            if (!varies_in_row(op->condition)) {
                return IRMutator::visit(op);
            }
            Scope<Interval> tile;
            tile.push(kChainRow, Interval(0, rows - 1));
            tile.push(kChainColumn, Interval(0, columns - 1));
            const bool usually = is_const(op->false_value);
            const Expr always = simplify(and_condition_over_domain(simplify(usually ? op->condition : !op->condition), tile));
            if (is_const_zero(always)) {
                return IRMutator::visit(op);
            }
            whole = whole.defined() ? whole && always : always;
            return mutate(usually ? op->true_value : op->false_value);
        }

        const int rows, columns;
        Expr &whole;

    public:
        Assume(int rows, int columns, Expr &whole) : rows(rows), columns(columns), whole(whole) {}
    };
    *without = nests;
    for (auto &n : *without) {
        for (auto &a : n.assignments) {
            a.value = Assume(rows, n.columns, whole).mutate(a.value);
        }
    }
    return whole.defined() ? simplify(whole) : whole;
}

}  // namespace halyard
