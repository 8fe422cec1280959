#include "language/code_size.h"

#include <algorithm>
#include <functional>
#include <iomanip>
#include <map>
#include <optional>
#include <sstream>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// What ships has some tens of copies and some thousands of nodes; beyond this a compile takes minutes, and more ends the
// compiler by the depth of its recursion.
constexpr double kMostCopies = 4096, kMostNodes = 1e6;

// Copies that each have a condition of their own are blocks of the machine code, over which passes of LLVM take longer than in proportion:
// 1024 of them take minutes.
constexpr double kMostGuarded = 256;

// Numbers beyond it are as good as endless, and products of them still are numbers.
constexpr double kEndless = 1e30;

std::optional<int64_t> constant(const Expr &e) {
    const auto value = e.defined() ? as_const_int(simplify(e)) : std::nullopt;
    return value && *value > 0 ? std::optional<int64_t>(*value) : std::nullopt;
}

// The extents of a stage's loops that are known: from bounds, reductions and splits.
std::map<std::string, int64_t> extents_of(const Function &f, const Definition &d) {
    std::map<std::string, int64_t> known;
    const auto set = [&](const std::string &loop, const std::optional<int64_t> &extent) {
        if (extent) {
            known[loop] = *extent;
        }
    };
    const auto get = [&](const std::string &loop) {
        const auto e = known.find(loop);
        return e == known.end() ? std::optional<int64_t>() : e->second;
    };
    for (const Bound &b : f.schedule().bounds()) {
        set(b.var, constant(b.extent));
    }
    for (const ReductionVariable &r : d.schedule().rvars()) {
        set(r.var, constant(r.extent));
    }
    for (const Split &s : d.schedule().splits()) {
        const auto old = get(s.old_var), outer = get(s.outer), inner = get(s.inner), factor = constant(s.factor);
        if (s.split_type == Split::RenameVar) {
            set(s.outer, old);
        } else if (s.split_type == Split::FuseVars) {
            if (outer && inner && *outer < (int64_t(1) << 31) && *inner < (int64_t(1) << 31)) {
                known[s.old_var] = *outer * *inner;
            }
        } else {
            set(s.inner, factor);
            if (old && factor) {
                known[s.outer] = (*old + *factor - 1) / *factor;
            }
        }
    }
    return known;
}

// Loops whose turns each ask whether they are behind the end: as they are written out, or where loads or stores of lanes are left out one by one.
std::map<std::string, TailStrategy> guarded_loops(const Definition &d) {
    std::map<std::string, TailStrategy> found;
    for (const Split &s : d.schedule().splits()) {
        const bool by_lanes = s.tail == TailStrategy::PredicateLoads || s.tail == TailStrategy::PredicateStores;
        if (s.split_type == Split::SplitVar && (by_lanes || s.tail == TailStrategy::GuardWithIf || s.tail == TailStrategy::Predicate)) {
            found[s.inner] = by_lanes ? s.tail : TailStrategy::GuardWithIf;
        }
    }
    return found;
}

// The nodes of a definition, with what is inlined in it.
class Nodes : public IRGraphVisitor {
public:
    explicit Nodes(std::function<double(const std::string &)> of_call) : of_call_(std::move(of_call)) {}
    double count = 0;

private:
    using IRGraphVisitor::visit;
    void include(const Expr &e) override {
        count++;
        IRGraphVisitor::include(e);
    }
    void visit(const Internal::Call *op) override {
        if (op->call_type == Internal::Call::Halide) {
            count += of_call_(op->name);
        }
        IRGraphVisitor::visit(op);
    }
    std::function<double(const std::string &)> of_call_;
};

class Estimate {
public:
    Estimate(const PipelineView &view, const Target &target, const std::vector<Touch> &touches)
        : view_(view), touches_(touches), lanes_(target.has_feature(Target::CUDA) ? 4 : target.natural_vector_size<float>()) {
        for (const auto &e : view.funcs()) {
            if (!e.second.parameter.defined()) {
                funcs_.emplace(e.second.function.name(), &e.second);
            }
        }
    }

    CodeSize run(const Replaced &replaced) {
        for (const auto &[name, entry] : funcs_) {
            const Function &f = entry->function;
            if (!f.has_pure_definition() || inlined(*entry)) {
                continue;
            }
            const double around = times_computed(name);
            add(*entry, f.definition(), around);
            for (int i = 0; i < int(f.updates().size()); i++) {
                if (!replaced.count({name, i + 1})) {
                    add(*entry, f.update(i), around);
                }
            }
        }
        std::stable_sort(size_.loops.begin(), size_.loops.end(),
                         [](const WrittenOut &a, const WrittenOut &b) { return a.times > b.times; });
        return std::move(size_);
    }

private:
    static bool inlined(const PipelineView::Entry &e) {
        const LoopLevel &level = e.function.schedule().compute_level();
        return !e.is_output && level.func_name().empty() && level.var_name().empty();
    }

    // How often the loops of a stage are written out, from the innermost (or from `variable`) outwards.
    double times_written(const Function &f, const Definition &d, const std::string &variable) const {
        const auto extents = extents_of(f, d);
        bool inside = variable.empty();
        double copies = 1, lanes = 1;
        for (const Dim &dim : d.schedule().dims()) {
            inside = inside || dim.var == variable || ends_with(dim.var, "." + variable);
            const auto extent = extents.find(dim.var);
            if (inside && extent != extents.end()) {
                copies *= dim.for_type == ForType::Unrolled ? double(extent->second) : 1;
                lanes *= dim.for_type == ForType::Vectorized ? double(extent->second) : 1;
            }
        }
        for (const Specialization &s : d.specializations()) {
            copies = std::max(copies, times_written(f, s.definition, variable));
        }
        return std::min(copies * std::max(1.0, lanes / lanes_), kEndless);
    }

    // How many copies of a statement have conditions of their own; 1 for none.
    static double times_guarded(const Function &f, const Definition &d) {
        const auto extents = extents_of(f, d);
        const auto guards = guarded_loops(d);
        double times = 1;
        for (const Dim &dim : d.schedule().dims()) {
            const auto extent = extents.find(dim.var);
            const auto guard = guards.find(dim.var);
            const bool of_turns = dim.for_type == ForType::Unrolled;
            const bool of_lanes =
                dim.for_type == ForType::Vectorized && guard != guards.end() && guard->second != TailStrategy::GuardWithIf;
            times *= extent != extents.end() && guard != guards.end() && (of_turns || of_lanes) ? double(extent->second) : 1;
        }
        for (const Specialization &s : d.specializations()) {
            times = std::max(times, times_guarded(f, s.definition));
        }
        return std::min(times, kEndless);
    }

    // How often a Func's loops stand in the code, for the loops that they are computed in.
    double times_computed(const std::string &name) {
        const auto known = times_.find(name);
        if (known != times_.end()) {
            return known->second;
        }
        times_[name] = 1;  // for a circle, which Halide refuses
        const LoopLevel &level = funcs_.at(name)->function.schedule().compute_level();
        const auto in = funcs_.find(level.func_name());
        double times = 1;
        if (in != funcs_.end() && in->second->function.has_pure_definition()) {
            const Function &g = in->second->function;
            times = times_computed(in->first);
            double around = times_written(g, g.definition(), level.var_name());
            for (const Definition &u : g.updates()) {
                around = std::max(around, times_written(g, u, level.var_name()));
            }
            times = std::min(times * around, kEndless);
        }
        return times_[name] = times;
    }

    double weight_of_inlined(const std::string &name) {
        const auto f = funcs_.find(name);
        if (f == funcs_.end() || !inlined(*f->second) || !f->second->function.has_pure_definition()) {
            return 0;
        }
        const auto known = weights_.find(name);
        if (known != weights_.end()) {
            return known->second;
        }
        weights_[name] = 0;
        return weights_[name] = std::min(weight(f->second->function.definition()), kEndless);
    }

    double weight(const Definition &d) {
        Nodes nodes([this](const std::string &name) { return weight_of_inlined(name); });
        d.accept(&nodes);
        return nodes.count;
    }

    void add(const PipelineView::Entry &entry, const Definition &d, double around) {
        const double copies = std::min(around * times_written(entry.function, d, ""), kEndless);
        size_.copies = std::max(size_.copies, copies);
        size_.nodes += copies * weight(d);
        size_.guarded = std::max(size_.guarded, times_guarded(entry.function, d));
        note_loops(entry, d);
    }

    void note_loops(const PipelineView::Entry &entry, const Definition &d) {
        const auto extents = extents_of(entry.function, d);
        for (const Dim &dim : d.schedule().dims()) {
            const auto extent = extents.find(dim.var);
            if ((dim.for_type == ForType::Unrolled || dim.for_type == ForType::Vectorized) && extent != extents.end()) {
                const std::string loop = loop_name(dim.var);
                const Touch by = touch(entry.name, loop);
                // unroll("col", 8) has a loop inside of "col", whose name nobody wrote.
                size_.loops.push_back({entry.name, by.loops.empty() ? loop : by.loops.front(), extent->second, by});
            }
        }
        for (const Specialization &s : d.specializations()) {
            note_loops(entry, s.definition);
        }
    }

    Touch touch(const std::string &func, const std::string &loop) const {
        for (auto t = touches_.rbegin(); t != touches_.rend(); ++t) {
            if (t->func == func && std::find(t->loops.begin(), t->loops.end(), loop) != t->loops.end()) {
                return *t;
            }
        }
        return {};
    }

    const PipelineView &view_;
    const std::vector<Touch> &touches_;
    double lanes_;
    std::map<std::string, const PipelineView::Entry *> funcs_;  // by Halide's name
    std::map<std::string, double> times_, weights_;
    CodeSize size_;
};

}  // namespace

CodeSize code_size(const PipelineView &view, const Target &target, const std::vector<Touch> &touches, const Replaced &replaced) {
    return Estimate(view, target, touches).run(replaced);
}

void check_code_size(const CodeSize &size, const std::string &script) {
    const bool is_small = size.copies <= kMostCopies && size.nodes <= kMostNodes;
    if ((is_small && size.guarded <= kMostGuarded) || size.loops.empty()) {
        return;
    }
    const WrittenOut &most = size.loops.front();
    Diagnostic d = diagnostic_at(most.by);
    d.file = d.file.empty() ? script : d.file;
    std::ostringstream message;
    message << std::fixed << std::setprecision(0);
    message << "the loop \"" << most.loop << "\" of " << most.func << " is written out " << most.times << " times; ";
    if (is_small) {
        message << "that makes " << size.guarded << " copies with a condition each, where a compiler gets to the end of " << kMostGuarded;
    } else {
        message << "with the loops around it that makes " << size.copies << " copies of a statement and " << size.nodes
                << " operations in all, where a compiler gets to the end of " << kMostCopies << " and " << kMostNodes;
    }
    d.message = message.str();
    d.hint = "unroll and vectorize loops of a few turns: split the loop first, and leave the outer one as it is";
    throw ScriptError(std::move(d));
}

}  // namespace halyard
