#include "lowering/cuda/tensor_cores/fused_rows.h"

#include <algorithm>

#include "lowering/cuda/tensor_cores/fused_terms.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class LoadByRow : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Load *op) override {
        return names.count(op->name) ? held_row(op->name, op->type) : IRMutator::visit(op);
    }

    const std::set<std::string> &names;

public:
    explicit LoadByRow(const std::set<std::string> &names) : names(names) {}
};

class VariesBut : public IRVisitor {
    using IRVisitor::visit;

    void visit(const Load *op) override {
        if (!names.count(op->name)) {
            IRVisitor::visit(op);
        }
    }
    void visit(const Variable *op) override {
        yes = yes || op->name == kChainColumn || op->name == kChainElement;
    }

    const std::set<std::string> &names;

public:
    explicit VariesBut(const std::set<std::string> &names) : names(names) {}
    bool yes = false;
};

bool varies_but(const Expr &e, const std::set<std::string> &names) {
    VariesBut v(names);
    e.accept(&v);
    return v.yes;
}

class HoistRows : public IRMutator {
public:
    using IRMutator::mutate;

    Expr mutate(const Expr &e) override {
        const bool held = e.defined() && e.type() == Float(32) && !e.as<Load>() && !varies_in_row(e) && !held_in(e).empty();
        if (!held || e.as<Let>()) {
            return IRMutator::mutate(e);
        }
        for (const auto &[value, name] : known) {
            if (equal(value, e)) {
                return held_row(name, e.type());
            }
        }
        const std::string name = unique_name("row_value");
        parts.held[name] = {e.type(), 0};
        known.emplace_back(e, name);
        fresh.push_back({name, e, Expr()});
        return held_row(name, e.type());
    }

    // Values that are stored now are others from here on.
    void stored(const std::string &name) {
        known.erase(std::remove_if(known.begin(), known.end(), [&](const auto &k) { return held_in(k.first).count(name) > 0; }),
                    known.end());
    }

    explicit HoistRows(FusedParts &parts) : parts(parts) {}
    FusedParts &parts;
    std::vector<std::pair<Expr, std::string>> known;
    std::vector<Assignment> fresh;
};

void hoist_rows(FusedParts &parts) {
    for (auto *list : parts.lists()) {
        HoistRows hoist(parts);
        std::vector<FusedNest> nests;
        for (auto n : *list) {
            if (n.kind != FusedNest::kRows) {
                for (auto &a : n.assignments) {
                    a.value = hoist.mutate(a.value);
                }
            }
            if (!hoist.fresh.empty()) {
                FusedNest rows;
                rows.kind = FusedNest::kRows;
                rows.row_extent = parts.rows;
                for (const auto &a : hoist.fresh) {
                    rows.assignments = {a};
                    nests.push_back(rows);
                }
                hoist.fresh.clear();
            }
            for (const auto &a : n.assignments) {
                hoist.stored(a.stored);
            }
            nests.push_back(n);
        }
        *list = nests;
    }
}

// Values of a row that were computed before are not computed again: max(acc.1, block_max) is what acc.1 becomes.
void share_rows(std::vector<FusedNest> &list) {
    std::vector<std::pair<Expr, Expr>> known;
    class Replace : public IRMutator {
    public:
        using IRMutator::mutate;
        Expr mutate(const Expr &e) override {
            const Expr m = IRMutator::mutate(e);
            for (const auto &[value, load] : known) {
                if (m.defined() && equal(value, m)) {
                    return load;
                }
            }
            return m;
        }
        explicit Replace(const std::vector<std::pair<Expr, Expr>> &known) : known(known) {}
        const std::vector<std::pair<Expr, Expr>> &known;
    };
    for (auto &n : list) {
        for (auto &a : n.assignments) {
            a.value = Replace(known).mutate(a.value);
        }
        for (const auto &a : n.assignments) {
            known.erase(
                std::remove_if(known.begin(), known.end(),
                               [&](const auto &k) { return held_in(k.first).count(a.stored) || held_in(k.second).count(a.stored); }),
                known.end());
        }
        if (n.kind == FusedNest::kRows && n.assignments.size() == 1 && !n.assignments[0].value.as<Load>() &&
            !held_in(n.assignments[0].value).empty() && !held_in(n.assignments[0].value).count(n.assignments[0].stored)) {
            known.emplace_back(n.assignments[0].value, held_row(n.assignments[0].stored, n.assignments[0].value.type()));
        }
    }
}

}  // namespace

Expr held_row(const std::string &name, const Type &type) {
    return Load::make(type, name, Variable::make(Int(32), kChainHeldRow), Buffer<>(), Parameter(), const_true(), ModulusRemainder());
}

void hold_by_row(FusedParts &parts) {
    std::set<std::string> candidates;
    for (auto *list : parts.lists()) {
        for (const auto &n : *list) {
            for (const auto &a : n.assignments) {
                if (n.kind == FusedNest::kTile && parts.held.count(a.stored)) {
                    candidates.insert(a.stored);
                }
            }
        }
    }
    for (const auto *tile : {&parts.first, &parts.second}) {
        candidates.erase(tile->accumulator);
        candidates.erase(tile->a.buffer);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (auto *list : parts.lists()) {
            for (const auto &n : *list) {
                for (const auto &a : n.assignments) {
                    if (candidates.count(a.stored) && varies_but(a.value, candidates)) {
                        candidates.erase(a.stored);
                        changed = true;
                    }
                }
            }
        }
    }
    for (const auto &name : candidates) {
        parts.held[name].columns = 0;
    }
    for (auto *list : parts.lists()) {
        std::vector<FusedNest> nests;
        for (const auto &n : *list) {
            // Those of a row first: the values that others have at the same time are computed before.
            FusedNest rows = n, tile = n;
            rows.assignments.clear();
            tile.assignments.clear();
            for (auto a : n.assignments) {
                a.value = LoadByRow(candidates).mutate(a.value);
                (candidates.count(a.stored) ? rows : tile).assignments.push_back(a);
            }
            rows.kind = FusedNest::kRows;
            rows.columns = 0;
            if (!tile.assignments.empty()) {
                nests.push_back(tile);
            }
            if (!rows.assignments.empty()) {
                nests.push_back(rows);
            }
        }
        *list = nests;
    }
}

void compute_by_row(FusedParts &parts) {
    hoist_rows(parts);
    for (auto *list : parts.lists()) {
        share_rows(*list);
    }
}

}  // namespace halyard
