#include "lowering/cuda/tensor_cores/fused_algebra.h"

#include <algorithm>

#include "lowering/cuda/tensor_cores/fused_rows.h"
#include "lowering/cuda/tensor_cores/fused_terms.h"
#include "lowering/cuda/tensor_cores/fused_warps.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

[[noreturn]] void fail(const FusedParts &parts, const std::string &message) {
    parts.second_asked->fail(message);
    throw CompileError(message);
}

// ---- 2. The second product adds to the accumulator ----

int uses(const FusedParts &parts, const std::string &name) {
    int n = 0;
    for (const auto *list : {&parts.before, &parts.between, &parts.behind, &parts.after}) {
        for (const auto &nest : *list) {
            for (const auto &a : nest.assignments) {
                n += int(held_in(a.value).count(name));
            }
        }
    }
    return n;
}

Assignment *assignment_to(std::vector<FusedNest> &list, const std::string &name, FusedNest::Kind kind) {
    for (auto &n : list) {
        for (auto &a : n.assignments) {
            if (a.stored == name && n.kind == kind) {
                return &a;
            }
        }
    }
    return nullptr;
}

void erase_assignments_to(std::vector<FusedNest> &list, const std::string &name) {
    for (auto &n : list) {
        n.assignments.erase(
            std::remove_if(n.assignments.begin(), n.assignments.end(), [&](const Assignment &a) { return a.stored == name; }),
            n.assignments.end());
    }
    list.erase(std::remove_if(list.begin(), list.end(), [](const FusedNest &n) { return n.assignments.empty(); }), list.end());
}

bool begins_as_zero(std::vector<FusedNest> &list, const std::string &name) {
    const Assignment *init = assignment_to(list, name, FusedNest::kTile);
    return init && is_const_zero(init->value);
}

// Sums over p of which each is used once, as f * sum; undefined where p is used in another way. `users` are those values.
bool sums_take_factor(FusedParts &parts, const std::string &p, const Expr &f, std::vector<std::string> &sums) {
    for (const auto &n : parts.between) {
        for (const auto &a : n.assignments) {
            if (!held_in(a.value).count(p) || a.stored == parts.second.a.buffer) {
                continue;
            }
            const auto *load = a.value.as<Load>();
            if (n.kind != FusedNest::kReduction || n.reduction != FusedNest::kSum || !load || uses(parts, a.stored) != 1) {
                return false;
            }
            sums.push_back(a.stored);
        }
    }
    for (const auto &s : sums) {
        bool found = false;
        for (const auto &n : parts.behind) {
            for (const auto &a : n.assignments) {
                const LinearIn l = linear_in(a.value, s);
                found = found || (l.factor.defined() && equal(l.factor, f));
            }
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

void add_to_accumulator(FusedParts &parts) {
    const std::string out = parts.second.accumulator, operand = parts.second.a.buffer;
    Assignment *sum = nullptr;
    LinearIn l;
    for (auto &n : parts.behind) {
        for (auto &a : n.assignments) {
            if (n.kind == FusedNest::kTile && held_in(a.value).count(out)) {
                sum = &a;
                l = linear_in(a.value, out);
            }
        }
    }
    if (!sum || !l.factor.defined() || uses(parts, out) != 1 || !begins_as_zero(parts.between, out) ||
        held_in(l.rest).count(sum->stored) == 0) {
        fail(parts, "does not add to an accumulator, as acc = acc * g + product * f, with f and g of a row");
    }
    const std::string accumulator = sum->stored;
    sum->value = l.rest;
    erase_assignments_to(parts.between, out);
    parts.second.accumulator = accumulator;
    parts.held.erase(out);
    if (const auto *load = l.rest.as<Load>(); load && load->name == accumulator) {
        erase_assignments_to(parts.behind, accumulator);
    }
    if (is_const_one(l.factor)) {
        return;
    }
    // The factor, where what the product multiplies is computed.
    for (const auto &n : parts.behind) {
        for (const auto &a : n.assignments) {
            if (held_in(l.factor).count(a.stored) && n.kind != FusedNest::kRows) {
                fail(parts, "has a factor of its rows that is computed behind it");
            }
        }
    }
    Assignment *weights = assignment_to(parts.between, operand, FusedNest::kTile);
    if (!weights) {
        fail(parts, "multiplies what is not computed in its step");
    }
    const auto *cast = weights->value.as<Cast>();
    const auto *p = cast ? cast->value.as<Load>() : nullptr;
    Assignment *of_p = p ? assignment_to(parts.between, p->name, FusedNest::kTile) : nullptr;
    std::vector<std::string> sums;
    if (of_p && sums_take_factor(parts, p->name, l.factor, sums)) {
        of_p->value = of_p->value * l.factor;
        for (auto &n : parts.behind) {
            for (auto &a : n.assignments) {
                for (const auto &s : sums) {
                    const LinearIn of = linear_in(a.value, s);
                    if (of.factor.defined()) {
                        const Expr same = held_row(s, parts.held[s].type);
                        a.value = of.rest.defined() ? of.rest + same : same;
                    }
                }
            }
        }
    } else {
        const Expr value = cast ? cast->value : weights->value;
        weights->value = Cast::make(weights->value.type(), value * l.factor);
    }
}

// ---- 3. and 4. Exponentials and factors ----

struct Term {
    Expr e;
    bool minus;
};

void signed_terms(const Expr &e, bool minus, std::vector<Term> &terms) {
    if (const auto *add = e.as<Add>()) {
        signed_terms(add->a, minus, terms);
        signed_terms(add->b, minus, terms);
    } else if (const auto *sub = e.as<Sub>()) {
        signed_terms(sub->a, minus, terms);
        signed_terms(sub->b, !minus, terms);
    } else {
        for (auto t = terms.begin(); t != terms.end(); ++t) {
            if (t->minus != minus && equal(t->e, e)) {
                terms.erase(t);
                return;
            }
        }
        terms.push_back({e, minus});
    }
}

Expr sum_of_signed(const std::vector<Term> &terms) {
    Expr sum;
    for (bool minus : {false, true}) {
        for (const auto &t : terms) {
            if (t.minus == minus) {
                sum = !sum.defined() ? (minus ? -t.e : t.e) : minus ? sum - t.e : sum + t.e;
            }
        }
    }
    return sum.defined() ? sum : Expr(0.0f);
}

class Rearrange : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Mul *op) override {
        if (op->type != Float(32)) {
            return IRMutator::visit(op);
        }
        std::vector<Expr> factors, same, others;
        factors_of(op, factors);
        std::vector<Term> exponents;
        const Call *last = nullptr;
        for (const auto &f : factors) {
            const Expr m = mutate(f);
            if (const Call *call = exponential(m)) {
                signed_terms(call->args[0], false, exponents);
                last = call;
            } else {
                const bool fixed = !varies_in_row(m) && !expr_uses_var(m, kChainRow) && held_in(m).empty();
                (fixed ? same : others).push_back(m);
            }
        }
        if (last) {
            others.push_back(Call::make(Float(32), "exp2_f32", {mutate(sum_of_signed(exponents))}, last->call_type));
        }
        if (others.empty() || same.empty()) {
            return product_of(others.empty() ? same : others);
        }
        return product_of(others) * product_of(same);
    }
};

// ---- 6. Sums over the lanes of a row ----

void sum_lanes_later(FusedParts &parts) {
    for (auto &n : parts.between) {
        if (n.kind != FusedNest::kReduction || n.reduction != FusedNest::kSum) {
            continue;
        }
        const std::string sum = n.assignments[0].stored;
        // t = t * g + sum, the only use of both in the step.
        const Assignment *total = nullptr;
        for (const auto &m : parts.between) {
            for (const auto &a : m.assignments) {
                total = held_in(a.value).count(sum) ? &a : total;
            }
        }
        const Assignment *init = assignment_to(parts.between, sum, FusedNest::kRows);
        if (!total || uses(parts, sum) != 1 || !init || !is_const_zero(init->value)) {
            continue;
        }
        const LinearIn of_sum = linear_in(total->value, sum);
        const LinearIn of_total = of_sum.rest.defined() ? linear_in(of_sum.rest, total->stored) : LinearIn();
        const Assignment *begin = assignment_to(parts.before, total->stored, FusedNest::kRows);
        int uses_in_step = 0;
        for (const auto &m : parts.between) {
            for (const auto &a : m.assignments) {
                uses_in_step += int(held_in(a.value).count(total->stored));
            }
        }
        if (of_sum.factor.defined() && is_const_one(of_sum.factor) && of_total.factor.defined() && !of_total.rest.defined() && begin &&
            is_const_zero(begin->value) && uses_in_step == 1) {
            n.across_lanes = false;
            parts.sums_of_lanes.push_back(total->stored);
        }
    }
}

}  // namespace

void rewrite_fused(FusedParts &parts) {
    hold_by_row(parts);
    if (parts.first_asked->warps > 1) {
        parts.together = put_together(parts);
    }
    add_to_accumulator(parts);
    for (auto *list : parts.lists()) {
        for (auto &n : *list) {
            for (auto &a : n.assignments) {
                a.value = Rearrange().mutate(a.value);
            }
        }
    }
    // Nothing of the step stands behind the second product any more: it adds to what the nests before it leave.
    parts.between.insert(parts.between.end(), parts.behind.begin(), parts.behind.end());
    parts.behind.clear();
    compute_by_row(parts);
    sum_lanes_later(parts);
}

}  // namespace halyard
