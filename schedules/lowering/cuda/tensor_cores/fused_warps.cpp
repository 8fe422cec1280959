#include "lowering/cuda/tensor_cores/fused_warps.h"

#include <algorithm>
#include <functional>

#include "lowering/cuda/print/code_text.h"
#include "lowering/cuda/tensor_cores/fused_terms.h"
#include "lowering/cuda/tensor_cores/warps.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

class LoadOther : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Load *op) override {
        const auto it = names.find(op->name);
        return it == names.end()
                   ? IRMutator::visit(op)
                   : Load::make(op->type, it->second, op->index, Buffer<>(), Parameter(), const_true(op->type.lanes()), ModulusRemainder());
    }

    const std::map<std::string, std::string> &names;

public:
    explicit LoadOther(const std::map<std::string, std::string> &names) : names(names) {}
};

class Steps {
public:
    explicit Steps(FusedParts &parts) : parts_(parts) {
        for (const auto &name : carried(parts)) {
            carried_.insert(name);
        }
    }

    std::vector<FusedNest> put_together() {
        for (const auto &n : parts_.behind) {
            for (const auto &a : n.assignments) {
                if (!carried_.count(a.stored) || n.kind == FusedNest::kReduction || a.value.type() != Float(32)) {
                    fail();
                }
                pair(a);
            }
        }
        if (pairs_.size() != carried_.size()) {
            fail();
        }
        for (const auto &n : parts_.behind) {
            for (const auto &a : n.assignments) {
                if (!maxima_.count(a.stored)) {
                    check_sum(a);
                }
            }
        }
        std::map<std::string, std::string> names;
        for (const auto &[name, of_step] : pairs_) {
            names[of_step] = of_other_warp(name);
            parts_.held[of_other_warp(name)] = parts_.held[of_step];
        }
        std::vector<FusedNest> nests = parts_.behind;
        for (auto &n : nests) {
            for (auto &a : n.assignments) {
                a.value = LoadOther(names).mutate(a.value);
            }
        }
        return nests;
    }

private:
    [[noreturn]] void fail() const {
        parts_.first_asked->fail("has steps that are no sums, nor maxima, nor sums weighted by these, so that several warps cannot "
                                 "share them; take split_k_warps(1)");
        throw CompileError("warps");
    }

    // What of the step each carried value takes in: a maximum, or a factor's counterpart in a sum.
    void pair(const Assignment &a) {
        if (const auto *m = a.value.as<Max>()) {
            const auto *x = m->a.as<Load>(), *y = m->b.as<Load>();
            if (!x || !y || (x->name == a.stored) == (y->name == a.stored)) {
                fail();
            }
            take(a.stored, x->name == a.stored ? y->name : x->name);
            maxima_[a.stored] = a.value;
            return;
        }
        // The only value of the step that is no maximum.
        std::set<std::string> of_step;
        const LinearIn l = linear_in(a.value, a.stored);
        if (!l.factor.defined() || !l.rest.defined()) {
            fail();
        }
        std::vector<Expr> factors;
        factors_of(l.rest, factors);
        for (const auto &f : factors) {
            if (const auto *load = f.as<Load>()) {
                of_step.insert(load->name);
            }
        }
        if (of_step.size() != 1) {
            fail();
        }
        take(a.stored, *of_step.begin());
    }

    void take(const std::string &name, const std::string &of_step) {
        const bool again = std::any_of(pairs_.begin(), pairs_.end(), [&](const auto &p) { return p.second == of_step; });
        if (carried_.count(of_step) || again || !pairs_.emplace(name, of_step).second) {
            fail();
        }
    }

    // t + s, or t * exp2(m - m') + s * exp2(x - m').
    void check_sum(const Assignment &a) const {
        const std::string &of_step = pairs_.at(a.stored);
        const LinearIn before = linear_in(a.value, a.stored), here = linear_in(before.rest, of_step);
        if (!here.factor.defined() || here.rest.defined()) {
            fail();
        }
        if (is_const_one(before.factor) && is_const_one(here.factor)) {
            return;
        }
        const bool weighted = std::any_of(maxima_.begin(), maxima_.end(), [&](const auto &m) {
            return is_below(before.factor, m.first, m.second) && is_below(here.factor, pairs_.at(m.first), m.second);
        });
        if (!weighted) {
            fail();
        }
    }

    // exp2(name - maximum)
    static bool is_below(const Expr &factor, const std::string &name, const Expr &maximum) {
        const Call *call = exponential(factor);
        const auto *m = maximum.as<Max>();
        const Expr &value = m->a.as<Load>()->name == name ? m->a : m->b;
        return call && equal(call->args[0], simplify(value - maximum));
    }

    FusedParts &parts_;
    std::set<std::string> carried_;
    std::map<std::string, std::string> pairs_;  // with what of a step
    std::map<std::string, Expr> maxima_;
};

}  // namespace

std::string of_other_warp(const std::string &name) {
    return name + ".other";
}

std::vector<std::string> carried(const FusedParts &parts) {
    std::vector<std::string> names;
    for (const auto &n : parts.before) {
        for (const auto &a : n.assignments) {
            names.push_back(a.stored);
        }
    }
    return names;
}

std::vector<FusedNest> put_together(FusedParts &parts) {
    return Steps(parts).put_together();
}

void print_together(KernelPrinter &out, const FusedParts &parts, FusedNests &threads) {
    const int sharing = parts.first_asked->warps;
    const auto names = carried(parts);
    const auto values_of = [&](const std::string &name) {
        const int columns = parts.held.at(name).columns;
        return columns == 0 ? 2 : columns / 2;
    };
    int values = 0;  // of a lane
    for (const auto &name : names) {
        values += values_of(name);
    }
    const auto each = [&](const std::string &open, const std::function<std::string(const std::string &, const std::string &)> &line) {
        out.open(open);
        int first = 0;
        for (const auto &name : names) {
            out.line("#pragma unroll");
            out.open("for (int i = 0; i < " + number(values_of(name)) + "; i++) {");
            out.line(line(name, "of_warps[(other * " + number(values) + " + " + number(first) + " + i) * 32 + lane]"));
            out.close();
            first += values_of(name);
        }
    };
    out.line("const shared<float> of_warps = shared_array<float>(0, " + number((sharing - 1) * values * kWarp) + ");");
    out.line("__syncthreads();");
    each("if (const int other = warp - 1; other >= 0) {",
         [&](const std::string &name, const std::string &place) { return place + " = " + out.name(name) + "[i];"; });
    out.close();
    out.line("__syncthreads();");
    out.open("if (warp > 0) {");
    out.line("return;");
    out.close();
    each("for (int other = 0; other < " + number(sharing - 1) + "; other++) {",
         [&](const std::string &name, const std::string &place) { return out.name(of_other_warp(name)) + "[i] = " + place + ";"; });
    threads.nests(parts.together);
    out.close();
}

}  // namespace halyard
