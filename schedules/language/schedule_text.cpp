#include "language/schedule_text.h"

#include <algorithm>
#include <set>

#include "language/binding.h"
#include "language/lua_text.h"
#include "language/schedule_words.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

constexpr size_t kColumns = 110;

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

// The level as it is once it is locked: what is stored nowhere else is stored where it is computed.
struct Level {
    std::string func, variable;
    int stage = -1;

    explicit Level(const LoopLevel &l) : func(l.func_name()), variable(l.var_name()), stage(l.get_stage_index()) {}
    bool inlined() const {
        return func.empty() && variable.empty();
    }
    bool root() const {
        return func.empty() && variable == LoopLevel::root().var_name();
    }
    bool operator==(const Level &o) const {
        return func == o.func && variable == o.variable && stage == o.stage;
    }
    bool operator!=(const Level &o) const {
        return !(*this == o);
    }
};

// A definition without what a schedule says of it.
Definition unscheduled_copy(const Definition &d) {
    Definition copy = d.get_copy();
    copy.specializations().clear();
    StageSchedule &s = copy.schedule();
    s.prefetches().clear();
    s.fuse_level() = FuseLoopLevel();
    s.touched() = s.atomic() = s.allow_race_conditions() = false;
    for (Dim &d : s.dims()) {
        d.for_type = ForType::Serial;
    }
    return copy;
}

// The loops of a stage without a schedule, by those of the same stage of the same algorithm, made once more: variables without a name
// have others there.
StageStart start_like(const Function &f, const Function &other, int stage) {
    const Func func(f), of_other(other);
    const Stage mine = stage_of(func, stage), its = stage_of(of_other, stage);
    const auto &rvars = mine.get_schedule().rvars(), &its_rvars = its.get_schedule().rvars();
    if (!its.get_schedule().splits().empty()) {
        no_words("loops that the generator makes whoever schedules it");
    }
    if (rvars.size() != its_rvars.size()) {
        no_words("an rfactor of " + plain_name(f.name()));
    }
    StageStart start;
    for (LoopName l : loops_of(its)) {
        for (size_t r = 0; l.is_rvar && r < rvars.size(); r++) {
            l.halide = its_rvars[r].var == l.halide ? rvars[r].var : l.halide;
        }
        for (size_t a = 0; !l.is_rvar && a < f.args().size(); a++) {
            l.halide = other.args()[a] == l.halide ? f.args()[a] : l.halide;
        }
        start.loops.push_back(l);
    }
    return start;
}

}  // namespace

ScheduleText::ScheduleText(const PipelineView &view, const PipelineView &unscheduled) : view_(view) {
    for (const auto &[name, entry] : unscheduled.funcs()) {
        const auto same = view.funcs().find(name);
        if (same == view.funcs().end() || same->second.function.args().size() != entry.function.args().size() ||
            same->second.function.updates().size() != entry.function.updates().size()) {
            no_words(name + ", which is another Func where the generator schedules itself");
        }
        const Function &f = same->second.function;
        Before b;
        for (const auto &a : f.args()) {
            StorageDim d;
            d.var = a;
            b.schedule.storage_dims().push_back(d);
        }
        for (int s = 0; s <= int(f.updates().size()); s++) {
            b.stages.push_back(start_like(f, entry.function, s));
            b.definitions.push_back(unscheduled_copy(s == 0 ? f.definition() : f.update(s - 1)));
        }
        before_[f.name()] = std::move(b);
    }
}

ScheduleText::ScheduleText(const PipelineView &view) : view_(view) {
    for (const auto &[name, entry] : view.funcs()) {
        const Function &f = entry.function;
        Before b;
        std::map<FunctionPtr, FunctionPtr> same;  // a copy refers to the same wrappers
        for (const auto &w : f.schedule().wrappers()) {
            same[w.second] = w.second;
        }
        b.schedule = f.schedule().deep_copy(same);
        const Func func(f);
        for (int s = 0; s <= func.num_update_definitions(); s++) {
            const Stage stage = stage_of(func, s);
            b.stages.push_back({loops_of(stage), stage.get_schedule().splits().size(), true});
            b.definitions.push_back((s == 0 ? f.definition() : f.update(s - 1)).get_copy());
        }
        before_[f.name()] = std::move(b);
    }
}

class ScheduleWriter {
public:
    explicit ScheduleWriter(const ScheduleText &text) : view_(text.view_), before_(text.before_) {
        for (const Function &f : called_funcs_in_order_found(view_.outputs())) {
            funcs_.emplace(f.name(), f);
        }
        for (const auto &[name, f] : funcs_) {
            if (before_.count(name)) {
                lua_[name] = lua_field_of_k(view_.name_of(name));
            }
        }
    }

    std::string write() {
        for (const auto &[name, f] : funcs_) {
            find_copies(f);
        }
        for (const auto &[name, f] : funcs_) {
            find_partial_sums(f);
        }
        for (const auto &[name, f] : funcs_) {
            if (!lua_.count(name)) {
                no_words(name + ", a Func that was not there before");
            }
            read_stages(f);
        }
        for (const auto &[name, f] : funcs_) {
            agree_on(Level(f.schedule().compute_level()));
            agree_on(Level(f.schedule().store_level()));
            agree_on(Level(f.schedule().hoist_storage_level()));
        }
        find_inlined();
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
    struct Partial {
        std::string of;  // Halide's name of the Func that sums them up
        int update = 0;
    };

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
                    if (!lua_.count(r)) {
                        no_words("a copy of a copy");
                    }
                    args += (args.empty() ? "" : ", ") + lua_.at(r);
                    of += "_" + view_.name_of(r);
                }
            }
            copied_[name] = f.name();
            lua_[name] = local(plain + "_in" + of);
            if (!is_copy_of(funcs_.at(name), f)) {
                clone_of(f, name, args);
                continue;
            }
            copies_[name] = ":in_(" + args + ")";
            StageStart start;
            for (const auto &a : funcs_.at(name).args()) {
                start.loops.push_back({loop_name(a), a, false});
            }
            starts_[name] = {start};
        }
    }

    // Halide's Func::clone_in: a Func that is computed once more for some that read it. Its loops have the names of the first one's.
    void clone_of(const Function &f, const std::string &name, const std::string &readers) {
        const auto known = before_.find(f.name());
        if (known == before_.end() || readers.empty() || known->second.stages.size() != funcs_.at(name).updates().size() + 1) {
            no_words("a clone of " + view_.name_of(f.name()));
        }
        copies_[name] = ":clone_in(" + readers + ")";
        starts_[name] = known->second.stages;
        clones_.insert(name);
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
                    !before_.count(name) && !lua_.count(name) && g.updates().size() == 1 && g.args().size() > f.args().size();
                if (partial) {
                    partial_of(f, known->second, int(u), g);
                }
            }
        }
    }

    void partial_of(const Function &f, const ScheduleText::Before &before, int u, const Function &partial) {
        const std::string self = lua_.at(f.name()) + ":update(" + std::to_string(u) + ")";
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
        lua_[partial.name()] = plain;
        auto &lines = before_nests_[f.name()];
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
        starts_[partial.name()] = {pure, summed};
        changed_[{f.name(), u + 1}] = reduced;
        partials_[partial.name()] = {f.name(), u};
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
                for (const auto &[partial, of] : partials_) {
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
                    !Level(f->second.schedule().compute_level()).inlined()) {
                    inlined_for_[name].push_back(reader);
                }
            }
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
        const auto &starts = known != before_.end() ? known->second.stages : starts_.at(f.name());
        auto &stages = stages_[f.name()];
        for (int s = 0; s <= func.num_update_definitions(); s++) {
            const auto changed = changed_.find({f.name(), s});
            const Stage stage = stage_of(func, s);
            if (size_t(s) >= starts.size()) {
                no_words("an update that was not there before");
            }
            stages.push_back({loops_since(of_stage(changed != changed_.end() ? changed->second : starts[size_t(s)], stage), stage), {}});
        }
    }

    // A level that says no stage is a loop of this name in any of them.
    void agree_on(const Level &level) {
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

    std::string level_text(const Level &level) const {
        const std::string self = lua_.at(level.func);
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
        for (const auto &[name, readers] : inlined_for_) {
            if (std::count(readers.begin(), readers.end(), f.name()) > 0) {
                visit(funcs_.at(name), seen, order);
            }
        }
        order.push_back(f);
    }

    void write_func(const Function &f) {
        const auto entry = view_.funcs().find(view_.name_of(f.name()));
        if (before_.count(f.name()) && entry != view_.funcs().end() && entry->second.parameter.defined() &&
            Level(f.schedule().compute_level()).inlined() && f.schedule().wrappers().empty()) {
            return;  // an input
        }
        const std::string begin = out_;
        if (const auto copy = copies_.find(f.name()); copy != copies_.end()) {
            line("local " + lua_.at(f.name()) + " = " + lua_.at(copied_.at(f.name())) + copy->second);
        }
        for (const auto &l : before_nests_[f.name()]) {
            line(l);
        }
        if (const auto readers = inlined_for_.find(f.name()); readers != inlined_for_.end()) {
            std::string names;
            for (const auto &r : readers->second) {
                names += (names.empty() ? "" : ", ") + lua_.at(r);
            }
            line(lua_.at(f.name()) + ":clone_in(" + names + ") -- computed again by these");
        }
        say(lua_.at(f.name()), place_words(f));
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
        if (const auto p = partials_.find(f.name()); p != partials_.end()) {
            text = "The parts of " + view_.name_of(p->second.of) + ", summed up one beside the other.";
        } else if (clones_.count(f.name())) {
            text = view_.name_of(copied_.at(f.name())) + ", computed once more for who reads it next.";
        } else if (copies_.count(f.name())) {
            text = view_.name_of(copied_.at(f.name())) + ", copied for who reads it next.";
        } else if (Level(f.schedule().compute_level()).root() && !is_output(f)) {
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
        const Level compute(now.compute_level()), store(now.store_level()), hoist(now.hoist_storage_level());
        if (compute != Level(was.compute_level()) && !(is_output(f) && compute.root())) {
            words.push_back(compute.root()      ? ":compute_root()"
                            : compute.inlined() ? ":compute_inline()"
                                                : ":compute_at(" + level_text(compute) + ")");
        }
        if (store != compute && store != Level(was.store_level()) && !store.inlined() && !is_output(f)) {
            words.push_back(store.root() ? ":store_root()" : ":store_at(" + level_text(store) + ")");
        }
        if (hoist != store && hoist != compute && hoist != Level(was.hoist_storage_level()) && !hoist.inlined() && !is_output(f)) {
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
        const std::string self = lua_.at(f.name()) + update;
        const auto name = [&](int loop) { return in_quotes(l.loops[size_t(loop)].name); };
        const auto known = before_.find(f.name());
        const Definition *was = known == before_.end() || changed_.count({f.name(), s}) ? nullptr : &known->second.definitions[size_t(s)];
        if (now.specializations().size() != (was ? was->specializations().size() : 0)) {
            no_words("specialisations of somebody else");
        }
        if (now.schedule().prefetches().size() != (was ? was->schedule().prefetches().size() : 0)) {
            no_words("prefetches of somebody else");
        }
        if (!Level(now.schedule().fuse_level().level).inlined() &&
            !(was && Level(was->schedule().fuse_level().level) == Level(now.schedule().fuse_level().level))) {
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
    const std::map<std::string, ScheduleText::Before> &before_;
    std::map<std::string, Function> funcs_;               // by Halide's names, as all the following
    std::map<std::string, std::string> lua_;              // how a script says each
    std::map<std::string, std::string> copies_, copied_;  // the word that makes a copy, and of what
    std::set<std::string> clones_;                        // those of the copies that compute again
    std::map<std::string, Partial> partials_;
    std::map<std::string, std::vector<std::string>> inlined_for_;   // readers that have its definition in place of calls
    std::map<std::string, std::vector<StageStart>> starts_;         // of new Funcs
    std::map<std::pair<std::string, int>, StageStart> changed_;     // stages that rfactor has left
    std::map<std::string, std::vector<std::string>> before_nests_;  // statements before all others of a Func
    std::map<std::string, std::vector<Read>> stages_;
    std::set<std::string> locals_;
    std::string out_;
};

std::string ScheduleText::statements() const {
    return ScheduleWriter(*this).write();
}

}  // namespace halyard
