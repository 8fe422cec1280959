#include "language/new_funcs.h"

#include "language/locked_level.h"
#include "language/lua_text.h"
#include "language/schedule_words.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

bool is_copy_of(const Function &wrapper, const Function &f) {
    if (wrapper.has_update_definition() || wrapper.values().size() != size_t(f.outputs())) {
        return false;
    }
    const auto *call = wrapper.values()[0].as<Halide::Internal::Call>();
    return call && call->call_type == Halide::Internal::Call::Halide && call->name == f.name();
}

std::set<std::string> names_called(const Definition &d) {
    class Find : public IRGraphVisitor {
        using IRGraphVisitor::visit;
        void visit(const Halide::Internal::Call *op) override {
            IRGraphVisitor::visit(op);
            if (op->call_type == Halide::Internal::Call::Halide) {
                names.insert(op->name);
            }
        }

    public:
        std::set<std::string> names;
    } find;
    d.accept(&find);
    return find.names;
}

class FindNewFuncs {
public:
    FindNewFuncs(const PipelineView &view, const std::map<std::string, FuncBefore> &before, const std::map<std::string, Function> &funcs)
        : view_(view), before_(before), funcs_(funcs) {
        for (const auto &[name, f] : funcs_) {
            if (before_.count(name)) {
                found_.lua[name] = lua_field_of_k(view_.name_of(name));
            }
        }
    }

    NewFuncs find() {
        for (const auto &[name, f] : funcs_) {
            find_copies(f);
        }
        for (const auto &[name, f] : funcs_) {
            find_partial_sums(f);
        }
        find_inlined();
        return std::move(found_);
    }

private:
    std::string local(const std::string &wanted) {
        std::string name = lua_identifier(wanted);
        if (!is_lua_name(name) || name == "k") {
            name = "func_" + name;
        }
        for (int n = 2; !locals_.insert(name).second; n++) {
            name = lua_identifier(wanted) + "_" + std::to_string(n);
        }
        return name;
    }

    // Halide's Func::in: a Func that copies another one for some that read it.
    void find_copies(const Function &f) {
        std::map<std::string, std::vector<std::string>> consumers;  // of each new wrapper
        for (const auto &[consumer, pointer] : f.schedule().wrappers()) {
            const Function wrapper(pointer);
            const auto known = before_.find(f.name());
            if (known != before_.end() && known->second.schedule.wrappers().count(consumer)) {
                continue;
            }
            consumers[wrapper.name()].push_back(consumer);
        }
        for (const auto &[name, readers] : consumers) {
            const std::string plain = view_.name_of(f.name());
            std::string args, of;
            for (const auto &r : readers) {
                if (!r.empty()) {
                    if (!found_.lua.count(r)) {
                        no_words("a copy of a copy");
                    }
                    args += (args.empty() ? "" : ", ") + found_.lua.at(r);
                    of += "_" + view_.name_of(r);
                }
            }
            found_.copied[name] = f.name();
            found_.lua[name] = local(plain + "_in" + of);
            if (!is_copy_of(funcs_.at(name), f)) {
                clone_of(f, name, args);
                continue;
            }
            found_.copies[name] = ":in_(" + args + ")";
            StageStart start;
            for (const auto &a : funcs_.at(name).args()) {
                start.loops.push_back({loop_name(a), a, false});
            }
            found_.starts[name] = {start};
        }
    }

    // Halide's Func::clone_in: a Func that is computed once more for some that read it. Its loops have the names of the first one's.
    void clone_of(const Function &f, const std::string &name, const std::string &readers) {
        const auto known = before_.find(f.name());
        if (known == before_.end() || readers.empty() || known->second.stages.size() != funcs_.at(name).updates().size() + 1) {
            no_words("a clone of " + view_.name_of(f.name()));
        }
        found_.copies[name] = ":clone_in(" + readers + ")";
        found_.starts[name] = known->second.stages;
        found_.clones.insert(name);
    }

    // Stage::rfactor leaves a sum over what a new Func has summed up. Halide keeps neither the splits that stood before
    // it nor the order of loops: they follow from the loops of both.
    void find_partial_sums(const Function &f) {
        const auto known = before_.find(f.name());
        if (known == before_.end()) {
            return;
        }
        for (size_t u = 0; u < f.updates().size(); u++) {
            const Definition &now = f.update(int(u));
            for (const auto &[name, g] : calls_of(now)) {
                const bool partial =
                    !before_.count(name) && !found_.lua.count(name) && g.updates().size() == 1 && g.args().size() > f.args().size();
                if (partial) {
                    partial_of(f, known->second, int(u), g);
                }
            }
        }
    }

    void partial_of(const Function &f, const FuncBefore &before, int u, const Function &partial) {
        const std::string self = found_.lua.at(f.name()) + ":update(" + std::to_string(u) + ")";
        const StageStart &start = before.stages[size_t(u) + 1];
        const auto &outer = f.update(u).schedule().rvars();
        const auto &inner = partial.update(0).schedule().rvars();
        StageStart reduced, summed;  // the stages of f and of partial
        reduced.ordered = summed.ordered = false;
        std::vector<std::string> kept, lanes, words;
        std::map<std::string, int> dimensions;  // of an RDom, among the loops that stay whole
        for (const auto &r : inner) {
            dimensions[loop_name(r.var)]++;
        }
        size_t o = 0, i = 0;
        for (const LoopName &l : start.loops) {
            if (!l.is_rvar) {
                continue;
            }
            if (i == inner.size()) {
                no_words("the rfactor of " + view_.name_of(f.name()));
            }
            if (inner[i].var == unqualified(l.halide)) {
                const bool one = dimensions[loop_name(l.halide)] == 1;
                summed.loops.push_back({one ? loop_name(l.halide) : l.name, inner[i].var, true});
            } else {
                if (o == outer.size()) {
                    no_words("the rfactor of " + view_.name_of(f.name()));
                }
                words.push_back("split(" + in_quotes(l.name) + ", " + std::to_string(constant_value(inner[i].extent, "a split")) +
                                ", \"guard\", " + all_in_quotes({l.name, l.name + "_in"}) + ")");
                summed.loops.push_back({l.name + "_in", inner[i].var, true});
                reduced.loops.push_back({l.name, outer[o].var, true});
                kept.push_back(l.name);
                lanes.push_back(l.name + "_part");
                o++;
            }
            i++;
        }
        if (o != outer.size() || i != inner.size() || partial.args().size() != f.args().size() + o || o == 0) {
            no_words("the rfactor of " + view_.name_of(f.name()));
        }
        std::string names = o == 1 ? in_quotes(kept[0]) : "{ " + all_in_quotes(kept) + " }";
        const std::string plain = local(view_.name_of(f.name()) + "_part");
        found_.lua[partial.name()] = plain;
        auto &lines = found_.before_nests[f.name()];
        for (const auto &w : words) {
            lines.push_back(self + ":" + w);
        }
        lines.push_back("local " + plain + " = " + self + ":rfactor(" + names + ", { " + all_in_quotes(lanes) + " })");
        StageStart pure;
        for (size_t a = 0; a < partial.args().size(); a++) {
            const std::string &arg = partial.args()[a];
            const LoopName loop{a < f.args().size() ? loop_name(arg) : lanes[a - f.args().size()], arg, false};
            pure.loops.push_back(loop);
            summed.loops.push_back(loop);
            if (a < f.args().size()) {
                reduced.loops.push_back(loop);
            }
        }
        found_.starts[partial.name()] = {pure, summed};
        found_.changed[{f.name(), u + 1}] = reduced;
        found_.partials[partial.name()] = {f.name(), u};
    }

    std::map<std::string, Function> calls_of(const Definition &d) const {
        std::map<std::string, Function> result;
        for (const auto &n : names_called(d)) {
            if (const auto f = funcs_.find(n); f != funcs_.end()) {
                result.emplace(*f);
            }
        }
        return result;
    }

    // The autoschedulers inline simple Funcs by putting their definitions in place of calls, but not into outputs: what
    // one of these reads is stored for it, and computed where all others read it. That is a clone, which is inlined.
    void find_inlined() {
        std::map<std::string, std::set<std::string>> reads;  // of each Func, as scripts see it
        for (const auto &[name, f] : funcs_) {
            const auto known = before_.find(name);
            const size_t stages = known == before_.end() ? 0 : known->second.definitions.size();
            for (size_t s = 0; s < stages; s++) {
                const auto names = names_called(known->second.definitions[s]);
                std::string reader = name;
                for (const auto &[partial, of] : found_.partials) {
                    reader = of.of == name && size_t(of.update) + 1 == s ? partial : reader;
                }
                reads[reader].insert(names.begin(), names.end());
                reads[reader].erase(name);  // what it adds to
            }
        }
        for (const auto &[reader, names] : reads) {
            for (const auto &name : names) {
                const auto f = funcs_.find(name);
                if (f != funcs_.end() && !find_direct_calls(funcs_.at(reader)).count(name) &&
                    !LockedLevel(f->second.schedule().compute_level()).inlined()) {
                    found_.inlined_for[name].push_back(reader);
                }
            }
        }
    }

    const PipelineView &view_;
    const std::map<std::string, FuncBefore> &before_;
    const std::map<std::string, Function> &funcs_;
    std::set<std::string> locals_;
    NewFuncs found_;
};

}  // namespace

NewFuncs find_new_funcs(const PipelineView &view, const std::map<std::string, FuncBefore> &before,
                        const std::map<std::string, Function> &funcs) {
    return FindNewFuncs(view, before, funcs).find();
}

}  // namespace halyard
