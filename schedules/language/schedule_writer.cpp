#include "language/schedule_writer.h"

#include <algorithm>
#include <set>

#include "language/locked_level.h"
#include "language/lua_text.h"
#include "language/schedule_words.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr size_t kColumns = 110;

std::map<std::string, Function> by_name(const std::vector<Function> &funcs) {
    std::map<std::string, Function> named;
    for (const Function &f : funcs) {
        named.emplace(f.name(), f);
    }
    return named;
}

class ScheduleWriter {
public:
    ScheduleWriter(const PipelineView &view, const std::map<std::string, FuncBefore> &before)
        : view_(view), before_(before), funcs_(by_name(called_funcs_in_order_found(view.outputs()))),
          new_(find_new_funcs(view, before, funcs_)) {}

    std::string write() {
        for (const auto &[name, f] : funcs_) {
            if (!new_.lua.count(name)) {
                no_words(name + ", a Func that was not there before");
            }
            read_stages(f);
        }
        for (const auto &[name, f] : funcs_) {
            agree_on(LockedLevel(f.schedule().compute_level()));
            agree_on(LockedLevel(f.schedule().store_level()));
            agree_on(LockedLevel(f.schedule().hoist_storage_level()));
        }
        for (const Function &f : consumers_first()) {
            write_func(f);
        }
        return out_;
    }

private:
    // A stage with its loops, and those that others name.
    struct Read {
        StageLoops loops;
        std::set<int> named;
    };

    void line(const std::string &text) {
        out_ += "    " + text + "\n";
    }

    // Words that return what they are said of, in as few statements as fit the page.
    void say(const std::string &receiver, const std::vector<std::string> &words) {
        std::string statement;
        for (const auto &w : words) {
            if (!statement.empty() && statement.size() + w.size() > kColumns) {
                line(statement);
                statement.clear();
            }
            statement += (statement.empty() ? receiver : "") + w;
        }
        if (!statement.empty()) {
            line(statement);
        }
    }

    // Where the loops follow from others, some may be those of another stage.
    static StageStart of_stage(StageStart start, const Stage &stage) {
        if (start.ordered) {
            return start;
        }
        std::set<std::string> used;
        for (const Split &s : stage.get_schedule().splits()) {
            used.insert({s.old_var, s.outer, s.inner});
        }
        for (const Dim &d : stage.get_schedule().dims()) {
            used.insert(d.var);
        }
        const auto unused = [&](const LoopName &l) { return used.count(l.halide) == 0; };
        start.loops.erase(std::remove_if(start.loops.begin(), start.loops.end(), unused), start.loops.end());
        return start;
    }

    void read_stages(const Function &f) {
        const Func func(f);
        const auto known = before_.find(f.name());
        const auto &starts = known != before_.end() ? known->second.stages : new_.starts.at(f.name());
        auto &stages = stages_[f.name()];
        for (int s = 0; s <= func.num_update_definitions(); s++) {
            const auto changed = new_.changed.find({f.name(), s});
            const Stage stage = stage_of(func, s);
            if (size_t(s) >= starts.size()) {
                no_words("an update that was not there before");
            }
            stages.push_back(
                {loops_since(of_stage(changed != new_.changed.end() ? changed->second : starts[size_t(s)], stage), stage), {}});
        }
    }

    // A level that says no stage is a loop of this name in any of them.
    void agree_on(const LockedLevel &level) {
        const auto it = stages_.find(level.func);
        if (it == stages_.end()) {
            return;
        }
        std::string name;
        for (size_t s = 0; s < it->second.size(); s++) {
            Read &r = it->second[s];
            const int loop = level.stage < 0 || level.stage == int(s) ? r.loops.find(level.variable) : -1;
            if (loop < 0) {
                continue;
            }
            r.named.insert(loop);
            std::string &own = r.loops.loops[size_t(loop)].name;
            if (!name.empty() && own != name) {
                for (const int other : r.loops.order) {
                    if (r.loops.loops[size_t(other)].name == name) {
                        no_words("a level that is two loops");
                    }
                }
                own = name;
            }
            name = own;
        }
    }

    std::string level_text(const LockedLevel &level) const {
        const std::string self = new_.lua.at(level.func);
        const std::string stage = level.stage < 1 ? self : self + ":update(" + std::to_string(level.stage - 1) + ")";
        if (level.variable == Var::outermost().name()) {
            return stage + ", \"outermost\"";
        }
        const auto &stages = stages_.at(level.func);
        for (size_t s = 0; s < stages.size(); s++) {
            const int loop = level.stage < 0 || level.stage == int(s) ? stages[s].loops.find(level.variable) : -1;
            if (loop >= 0) {
                return stage + ", " + in_quotes(stages[s].loops.loops[size_t(loop)].name);
            }
        }
        no_words("the level " + level.func + "." + level.variable);
    }

    // Each Func after all that read it.
    std::vector<Function> consumers_first() {
        std::vector<Function> order;
        std::set<std::string> seen;
        for (const auto &o : view_.outputs()) {
            visit(o, seen, order);
        }
        std::reverse(order.begin(), order.end());
        return order;
    }

    void visit(const Function &f, std::set<std::string> &seen, std::vector<Function> &order) {
        if (!seen.insert(f.name()).second) {
            return;
        }
        for (const auto &[name, g] : find_direct_calls(f)) {
            const auto &wrappers = g.schedule().wrappers();
            auto w = wrappers.find(f.name());
            w = w == wrappers.end() ? wrappers.find("") : w;
            const bool around = w != wrappers.end() && Function(w->second).name() != f.name();
            visit(around ? Function(w->second) : g, seen, order);
        }
        for (const auto &[name, readers] : new_.inlined_for) {
            if (std::count(readers.begin(), readers.end(), f.name()) > 0) {
                visit(funcs_.at(name), seen, order);
            }
        }
        order.push_back(f);
    }

    void write_func(const Function &f) {
        const auto entry = view_.funcs().find(view_.name_of(f.name()));
        if (before_.count(f.name()) && entry != view_.funcs().end() && entry->second.parameter.defined() &&
            LockedLevel(f.schedule().compute_level()).inlined() && f.schedule().wrappers().empty()) {
            return;  // an input
        }
        const std::string begin = out_;
        if (const auto copy = new_.copies.find(f.name()); copy != new_.copies.end()) {
            line("local " + new_.lua.at(f.name()) + " = " + new_.lua.at(new_.copied.at(f.name())) + copy->second);
        }
        for (const auto &l : new_.before_nests[f.name()]) {
            line(l);
        }
        if (const auto readers = new_.inlined_for.find(f.name()); readers != new_.inlined_for.end()) {
            std::string names;
            for (const auto &r : readers->second) {
                names += (names.empty() ? "" : ", ") + new_.lua.at(r);
            }
            line(new_.lua.at(f.name()) + ":clone_in(" + names + ") -- computed again by these");
        }
        say(new_.lua.at(f.name()), place_words(f));
        const auto &stages = stages_.at(f.name());
        for (size_t s = 0; s < stages.size(); s++) {
            write_stage(f, int(s), stages[s]);
        }
        if (out_ != begin) {
            const std::string said = out_.substr(begin.size());
            out_ = begin + (begin.empty() ? "" : "\n") + comment(f) + said;
        }
    }

    std::string comment(const Function &f) const {
        std::string text;
        if (const auto p = new_.partials.find(f.name()); p != new_.partials.end()) {
            text = "The parts of " + view_.name_of(p->second.of) + ", summed up one beside the other.";
        } else if (new_.clones.count(f.name())) {
            text = view_.name_of(new_.copied.at(f.name())) + ", computed once more for who reads it next.";
        } else if (new_.copies.count(f.name())) {
            text = view_.name_of(new_.copied.at(f.name())) + ", copied for who reads it next.";
        } else if (LockedLevel(f.schedule().compute_level()).root() && !is_output(f)) {
            text = view_.name_of(f.name()) + ": stored whole.";
        }
        return text.empty() ? "" : "    -- " + text + "\n";
    }

    bool is_output(const Function &f) const {
        return std::any_of(view_.outputs().begin(), view_.outputs().end(), [&](const Function &o) { return o.same_as(f); });
    }

    std::vector<std::string> place_words(const Function &f) const {
        std::vector<std::string> words;
        const FuncSchedule &now = f.schedule();
        const auto known = before_.find(f.name());
        const FuncSchedule fresh;
        const FuncSchedule &was = known != before_.end() ? known->second.schedule : fresh;
        const LockedLevel compute(now.compute_level()), store(now.store_level()), hoist(now.hoist_storage_level());
        if (compute != LockedLevel(was.compute_level()) && !(is_output(f) && compute.root())) {
            words.push_back(compute.root()      ? ":compute_root()"
                            : compute.inlined() ? ":compute_inline()"
                                                : ":compute_at(" + level_text(compute) + ")");
        }
        if (store != compute && store != LockedLevel(was.store_level()) && !store.inlined() && !is_output(f)) {
            words.push_back(store.root() ? ":store_root()" : ":store_at(" + level_text(store) + ")");
        }
        if (hoist != store && hoist != compute && hoist != LockedLevel(was.hoist_storage_level()) && !hoist.inlined() && !is_output(f)) {
            words.push_back(hoist.root() ? ":hoist_storage_root()" : ":hoist_storage(" + level_text(hoist) + ")");
        }
        if (now.memory_type() != was.memory_type()) {
            words.push_back(lua_word("store_in", {value_name("memory", int(now.memory_type()))}));
        }
        add_storage_words(f, known != before_.end() ? was.storage_dims() : std::vector<StorageDim>(), words);
        for (size_t i = was.bounds().size(); i < now.bounds().size(); i++) {
            words.push_back(bound_word(now.bounds()[i]));
        }
        if (now.async() != was.async()) {
            words.emplace_back(":async()");
        }
        if (now.ring_buffer().defined() && !was.ring_buffer().defined()) {
            words.push_back(lua_word("ring_buffer", {std::to_string(constant_value(now.ring_buffer(), "a ring buffer"))}));
        }
        if (now.memoized() != was.memoized()) {
            no_words("what is memoized");
        }
        return words;
    }

    // A split of which only the inner part is in SIMD lanes or written out, directly inside of the outer one: one word.
    bool in_one_word(const Stage &stage, const Read &r, const LoopStep &step) const {
        const StageLoops &l = r.loops;
        if (step.split.split_type != Split::SplitVar) {
            return false;
        }
        const Dim *inner = l.dim(step.inner, stage), *outer = l.dim(step.outer, stage);
        return inner && outer && (inner->for_type == ForType::Vectorized || inner->for_type == ForType::Unrolled) &&
               l.loops[size_t(step.inner)].dim + 1 == l.loops[size_t(step.outer)].dim && !r.named.count(step.inner) &&
               l.loops[size_t(step.old)].name == l.loops[size_t(step.outer)].name && inner->partition_policy == Partition::Auto;
    }

    void write_stage(const Function &f, int s, const Read &r) {
        const Func func(f);
        const Stage stage = stage_of(func, s);
        const Definition &now = s == 0 ? f.definition() : f.update(s - 1);
        const StageLoops &l = r.loops;
        const std::string update = s == 0 ? "" : ":update(" + std::to_string(s - 1) + ")";
        const std::string self = new_.lua.at(f.name()) + update;
        const auto name = [&](int loop) { return in_quotes(l.loops[size_t(loop)].name); };
        const auto known = before_.find(f.name());
        const Definition *was =
            known == before_.end() || new_.changed.count({f.name(), s}) ? nullptr : &known->second.definitions[size_t(s)];
        if (now.specializations().size() != (was ? was->specializations().size() : 0)) {
            no_words("specialisations of somebody else");
        }
        if (now.schedule().prefetches().size() != (was ? was->schedule().prefetches().size() : 0)) {
            no_words("prefetches of somebody else");
        }
        if (!LockedLevel(now.schedule().fuse_level().level).inlined() &&
            !(was && LockedLevel(was->schedule().fuse_level().level) == LockedLevel(now.schedule().fuse_level().level))) {
            no_words("compute_with of somebody else");
        }

        const size_t before = out_.size();
        std::map<int, std::string> ends;  // of a loop: what is said at last, in one word
        std::set<int> hidden;             // loops that such a word makes
        for (const LoopStep &step : l.steps) {
            const Split &split = step.split;
            if (in_one_word(stage, r, step)) {
                const Dim *inner = l.dim(step.inner, stage);
                ends[step.outer] = lua_word(
                    inner->for_type == ForType::Vectorized ? "vectorize" : "unroll",
                    {name(step.outer), std::to_string(constant_value(split.factor, "a split")), value_name("tail", int(split.tail))});
                hidden.insert(step.inner);
            } else if (split.split_type == Split::SplitVar) {
                line(self + lua_word("split", {name(step.old), std::to_string(constant_value(split.factor, "a split")),
                                               value_name("tail", int(split.tail)), name(step.outer), name(step.inner)}));
            } else if (split.split_type == Split::FuseVars) {
                line(self + lua_word("fuse", {name(step.inner), name(step.outer), name(step.old)}));
            } else {
                if (l.loops[size_t(step.old)].name != l.loops[size_t(step.outer)].name) {
                    line(self + lua_word("rename", {name(step.old), name(step.outer)}));
                }
            }
        }
        std::vector<std::string> words;
        add_order_word(l, hidden, words);
        add_kind_words(stage, now, was, l, hidden, ends, words);
        if (l.single_thread) {
            words.emplace_back(":gpu_single_thread()");
        }
        if (words.empty() && out_.size() == before && s > 0 && now.schedule().touched() && !(was && was->schedule().touched())) {
            words.emplace_back(":unscheduled()");
        }
        say(self, words);
    }

    const PipelineView &view_;
    const std::map<std::string, FuncBefore> &before_;  // by Halide's names, as all the following
    const std::map<std::string, Function> funcs_;
    NewFuncs new_;
    std::map<std::string, std::vector<Read>> stages_;
    std::string out_;
};

}  // namespace

std::string write_schedule(const PipelineView &view, const std::map<std::string, FuncBefore> &before) {
    return ScheduleWriter(view, before).write();
}

}  // namespace halyard
