#include "language/places.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "language/definitions.h"
#include "language/motion.h"
#include "language/reads.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

/** A loop of a definition, as a place. */
struct Place {
    Function func;
    Definition definition;
    size_t loop;  // among its dims, from the innermost outwards
};

// Dims have names with the path of their splits.
bool is_named(const std::string &dim, const std::string &loop) {
    return dim == loop || ends_with(dim, "." + loop);
}

bool is_thread(const Dim &d) {
    return d.for_type == ForType::GPUThread || d.for_type == ForType::GPULane;
}

bool is_level(const LoopLevel &level) {
    return !level.func_name().empty();
}

int threads_in(const Definition &d, size_t from, size_t to) {
    const auto &dims = d.schedule().dims();
    return int(std::count_if(dims.begin() + long(from), dims.begin() + long(to), is_thread));
}

class FindCalls : public IRGraphVisitor {
    using IRGraphVisitor::visit;

    void visit(const Halide::Internal::Call *op) override {
        if (op->call_type == Halide::Internal::Call::Halide) {
            found.push_back(op);
        }
        IRGraphVisitor::visit(op);
    }

public:
    std::vector<const Halide::Internal::Call *> found;
};

std::vector<const Halide::Internal::Call *> calls_in(const Definition &d) {
    FindCalls calls;
    d.accept(&calls);
    return calls.found;
}

/** The loops that come of one that is cut with a tail. */
std::set<std::string> loops_cut_with(const StageSchedule &schedule, TailStrategy tail) {
    std::set<std::string> cut;
    for (const Split &s : schedule.splits()) {
        switch (s.split_type) {
        case Split::SplitVar:
            if (s.tail == tail || cut.count(s.old_var)) {
                cut.insert({s.outer, s.inner});
            }
            break;
        case Split::FuseVars:
            if (cut.count(s.outer) || cut.count(s.inner)) {
                cut.insert(s.old_var);
            }
            break;
        case Split::RenameVar:
            if (cut.count(s.old_var)) {
                cut.insert(s.outer);
            }
            break;
        }
    }
    return cut;
}

/** The variables of a definition that a loop is made of. */
std::set<std::string> made_of(const StageSchedule &schedule, const std::string &loop) {
    std::set<std::string> variables = {loop};
    const auto &splits = schedule.splits();
    for (auto s = splits.rbegin(); s != splits.rend(); ++s) {
        if (s->split_type == Split::FuseVars) {
            if (variables.count(s->old_var)) {
                variables.insert({s->outer, s->inner});
            }
        } else if (variables.count(s->outer) || (s->split_type == Split::SplitVar && variables.count(s->inner))) {
            variables.insert(s->old_var);
        }
    }
    return variables;
}

class Places {
public:
    explicit Places(const PipelineView &view) : view_(view) {
        for (const auto &f : view.funcs()) {
            functions_.emplace(f.second.function.name(), f.second.function);
        }
    }

    const std::map<std::string, Function> &functions() const {
        return functions_;
    }

    std::string name_of(const Function &f) const {
        return view_.name_of(f.name());
    }

    std::vector<Place> places_of(LoopLevel level) const {
        level.lock();  // nothing places it anew from here on
        std::vector<Place> found;
        const auto it = is_level(level) ? functions_.find(level.func_name()) : functions_.end();
        if (it == functions_.end()) {
            return found;
        }
        for_each_definition(it->second, [&](const Definition &d, int stage) {
            const auto &dims = d.schedule().dims();
            for (size_t i = 0; i < dims.size(); i++) {
                if (is_named(dims[i].var, level.var_name()) && (level.get_stage_index() < 0 || level.get_stage_index() == stage)) {
                    found.push_back({it->second, d, i});
                }
            }
        });
        return found;
    }

    const ThreadPlace &thread_place(const Function &f) {
        const auto known = threads_.find(f.name());
        if (known != threads_.end()) {
            return known->second;
        }
        ThreadPlace place;
        for_each_definition(
            f, [&](const Definition &d, int) { place.own = std::max(place.own, threads_in(d, 0, d.schedule().dims().size())); });
        place.nest = place.own;
        for (const Place &at : places_of(f.schedule().compute_level())) {
            const int around = loops_over_threads_around(at);
            place.around = std::max(place.around, around);
            if (around > 0) {
                const ThreadPlace &consumer = thread_place(at.func);
                place.nest = consumer.nest;
                place.consumer = name_of(at.func);
            }
        }
        for (const Place &at : places_of(store_level(f))) {
            place.around_memory = std::max(place.around_memory, loops_over_threads_around(at));
        }
        return threads_.emplace(f.name(), place).first->second;
    }

    /** Whether each thread has f for itself, in memory that is not its registers, and its block may have more threads than the loops
     * around f: Halide makes room for those, and counts the elements by the threads of the block. */
    bool has_too_little_room(const Function &f) {
        const ThreadPlace &place = thread_place(f);
        const MemoryType memory = f.schedule().memory_type();
        return place.around > 0 && place.around_memory > 0 && memory != MemoryType::Register && memory != MemoryType::Stack &&
               !has_threads_of_block(f);
    }
    /** The Funcs in whose loops f is computed, from f to f again; empty where these loops come to an end. */
    std::vector<Function> circle_of(const Function &f) const {
        std::vector<Function> chain = {f};
        while (true) {
            const LoopLevel &level = chain.back().schedule().compute_level();
            const auto it = is_level(level) ? functions_.find(level.func_name()) : functions_.end();
            if (it == functions_.end() || chain.size() > functions_.size()) {
                return {};
            }
            chain.push_back(it->second);
            if (it->second.same_as(f)) {
                return chain;
            }
        }
    }

    /** The loop cut with a tail whose turns compute f, and the Func that it is of; nothing where there is none. */
    std::optional<std::pair<Function, std::string>> computed_in_loop_cut_with(TailStrategy tail, const Function &f) const {
        for (const Place &at : places_of(f.schedule().compute_level())) {
            if (const auto loop = loop_from(at, tail)) {
                return std::make_pair(at.func, *loop);
            }
        }
        for (const Place &at : places_of_readers(f)) {
            if (const auto loop = loop_from(at, tail)) {
                return std::make_pair(at.func, *loop);
            }
        }
        return std::nullopt;
    }

    /** The Func over whose threads f is computed for each value, as it is placed nowhere; nothing where there is none. */
    std::optional<Function> runs_in_threads_of(const Function &f) {
        std::set<std::string> seen;
        std::optional<Function> in, beside;
        find_runs(f, in, beside, seen);
        return in;
    }

    /** The Funcs in whose threads, and in whose block outside of them, f is computed for each value, as it is placed nowhere. Halide has
     * one array for both, by its name; nothing where there are not both. */
    std::optional<std::pair<Function, Function>> runs_in_and_beside_threads(const Function &f) {
        std::set<std::string> seen;
        std::optional<Function> in, beside;
        find_runs(f, in, beside, seen);
        return in && beside ? std::make_optional(std::make_pair(*in, *beside)) : std::nullopt;
    }

    /** The loop whose turns need of f a part that moves and one that stays, where f is kept from turn to turn; else "". What begins
     * where it stays and ends where it moves grows, and is right. */
    std::string loop_with_both(const Function &f) const {
        LoopLevel compute = f.schedule().compute_level(), store = store_level(f);
        if (!is_level(compute) || compute.lock() == store.lock()) {
            return "";
        }
        const auto stored = places_of(store);
        for (const Place &innermost : places_of(compute)) {
            std::vector<Place> around = {innermost};
            while (!around.empty()) {
                const Place at = around.back();
                around.pop_back();
                const auto &dims = at.definition.schedule().dims();
                bool reached = false;
                for (size_t i = at.loop; i + 1 < dims.size() && !reached; i++) {
                    reached = std::any_of(stored.begin(), stored.end(), [&](const Place &s) {
                        return s.func.same_as(at.func) && dims[i].var == s.definition.schedule().dims()[s.loop].var;
                    });
                    if (!reached && has_both({at.func, at.definition, i}, f)) {
                        return loop_name(dims[i].var);
                    }
                }
                if (!reached) {
                    const auto further_out = places_of(at.func.schedule().compute_level());
                    around.insert(around.end(), further_out.begin(), further_out.end());
                }
            }
        }
        return "";
    }

private:
    // Where nothing is said of it, it is stored where it is computed.
    static const LoopLevel &store_level(const Function &f) {
        const LoopLevel &store = f.schedule().store_level();
        return store.func_name().empty() && store.var_name().empty() ? f.schedule().compute_level() : store;
    }

    bool is_output(const Function &f) const {
        return std::any_of(view_.outputs().begin(), view_.outputs().end(), [&](const Function &o) { return o.same_as(f); });
    }

    // A reduction that is placed nowhere is computed in the innermost loop of whoever needs it.
    std::vector<Place> places_of_readers(const Function &f) const {
        std::vector<Place> places;
        if (is_unplaced(f) && !f.can_be_inlined() && !is_output(f)) {
            for (const auto &[name, reader] : functions_) {
                for_each_definition(reader, [&, &reader = reader](const Definition &d, int) {
                    if (!reader.same_as(f) && reads_inline(reader, d, f)) {
                        places.push_back({reader, d, 0});
                    }
                });
            }
        }
        return places;
    }

    // `seen`: so that a Func that several need is looked at once.
    void find_runs(const Function &f, std::optional<Function> &in, std::optional<Function> &beside, std::set<std::string> &seen) {
        if (!seen.insert(f.name()).second) {
            return;
        }
        for (const Place &at : places_of_readers(f)) {
            if (loops_over_threads_around(at) > 0) {
                in = at.func;
            } else if (is_unplaced(at.func) && !is_output(at.func)) {
                find_runs(at.func, in, beside, seen);
            } else if (is_in_block(at.func)) {
                beside = at.func;
            }
        }
    }

    // Computed inside of the blocks of another one.
    bool is_in_block(const Function &f) const {
        const auto places = places_of(f.schedule().compute_level());
        return std::any_of(places.begin(), places.end(), [&](const Place &at) {
            const auto &dims = at.definition.schedule().dims();
            return is_in_block(at.func) ||
                   std::any_of(dims.begin() + long(at.loop), dims.end(), [](const Dim &d) { return d.for_type == ForType::GPUBlock; });
        });
    }

    int loops_over_threads_around(const Place &at) {
        return threads_in(at.definition, at.loop, at.definition.schedule().dims().size()) + thread_place(at.func).around;
    }

    // Whether all threads of the block that f is computed in are those of the loops around f: of one nest, that of the kernel itself.
    bool has_threads_of_block(const Function &f) {
        const Function kernel = outermost_around(f);
        const auto nest = nest_around(f);
        return nest && nest->same_as(kernel) && std::none_of(functions_.begin(), functions_.end(), [&](const auto &other) {
                   const Function &g = other.second;
                   return !g.same_as(kernel) && thread_place(g).own > 0 && outermost_around(g).same_as(kernel);
               });
    }

    // In whose loops, further out or in, everything around f is computed; f where nothing is.
    Function outermost_around(const Function &f) const {
        const auto around = places_of(f.schedule().compute_level());
        return around.empty() ? f : outermost_around(around[0].func);
    }

    // Whose own loops over threads f is computed in.
    std::optional<Function> nest_around(const Function &f) const {
        const auto around = places_of(f.schedule().compute_level());
        if (around.empty()) {
            return std::nullopt;
        }
        const Place &at = around[0];
        return threads_in(at.definition, at.loop, at.definition.schedule().dims().size()) > 0 ? at.func : nest_around(at.func);
    }

    static std::optional<std::string> loop_from(const Place &at, TailStrategy tail) {
        const auto cut = loops_cut_with(at.definition.schedule(), tail);
        const auto &dims = at.definition.schedule().dims();
        for (size_t i = at.loop; i < dims.size(); i++) {
            if (cut.count(dims[i].var)) {
                return loop_name(dims[i].var);
            }
        }
        return std::nullopt;
    }

    bool reads_inline(const Function &reader, const Definition &d, const Function &f) const {
        for (const auto *call : calls_in(d)) {
            const auto it = functions_.find(call->name);
            if (it == functions_.end()) {
                continue;
            }
            const Function called = read_by(reader, it->second);
            if (called.same_as(f) || (is_unplaced(called) && called.can_be_inlined() && called.has_pure_definition() &&
                                      reads_inline(called, called.definition(), f))) {
                return true;
            }
        }
        return false;
    }

    // Whether the turns of a loop run it, further in or in place of a call.
    bool runs_in(const Function &f, const Place &loop) const {
        if (is_unplaced(f)) {
            return !is_output(f);
        }
        for (const Place &at : places_of(f.schedule().compute_level())) {
            const bool here = at.func.same_as(loop.func) ? at.loop <= loop.loop : runs_in(at.func, loop);
            if (here) {
                return true;
            }
        }
        return false;
    }

    bool has_both(const Place &loop, const Function &f) const {
        std::map<std::string, std::vector<Motion>> needed;  // of each Func that runs in the loop, and of f: of each dimension
        const auto need = [&](const Definition &d, Motions variables, const Function &reader) {
            add_bounds(d.predicate(), variables);
            bool more = false;
            for (const auto *call : calls_in(d)) {
                const auto it = functions_.find(call->name);
                if (it == functions_.end() || it->second.same_as(reader)) {
                    continue;
                }
                const Function called = read_by(reader, it->second);
                if (!(called.same_as(f) || runs_in(called, loop))) {
                    continue;
                }
                auto &motions = needed[called.name()];
                motions.resize(call->args.size(), Motion{0, 0});
                for (size_t i = 0; i < call->args.size(); i++) {
                    const Motion all = either(motions[i], motion_of(call->args[i], variables));
                    more = more || !(all == motions[i]);
                    motions[i] = all;
                }
            }
            return more;
        };
        Motions moving;
        for (const auto &v : made_of(loop.definition.schedule(), loop.definition.schedule().dims()[loop.loop].var)) {
            moving[v] = {kMoves, kMoves};
        }
        for (bool more = need(loop.definition, moving, loop.func); more;) {
            more = false;
            const auto now = needed;
            for (const auto &[name, motions] : now) {
                const Function &g = functions_.at(name);
                Motions variables;
                for (size_t i = 0; i < g.args().size() && i < motions.size(); i++) {
                    variables[g.args()[i]] = motions[i];
                }
                for_each_definition(g, [&](const Definition &d, int) { more = need(d, variables, g) || more; });
            }
        }
        const auto &of_f = needed[f.name()];
        return std::any_of(of_f.begin(), of_f.end(), [](const Motion &m) { return (m.high & kStays) && ((m.low | m.high) & kMoves); });
    }

    const PipelineView &view_;
    std::map<std::string, Function> functions_;
    std::map<std::string, ThreadPlace> threads_;
};

// At the last line that said one of the words of a Func, or any of it.
[[noreturn]] void fail(const Binding &binding, const std::string &func, const std::set<std::string> &words, const std::string &message,
                       const std::string &hint) {
    static const std::set<std::string> makes = {"rfactor", "in_", "clone_in"};
    Diagnostic d;
    const auto &touches = binding.touches();
    const bool said = std::any_of(touches.begin(), touches.end(), [&](const Touch &t) { return t.func == func && words.count(t.word); });
    for (const Touch &t : touches) {
        if (t.func == func && (!said || words.count(t.word))) {
            d = diagnostic_at(t);
        }
    }
    for (size_t i = touches.size(); i > 0 && d.word.empty(); i--) {  // what made the Func, where nothing else was said of it
        const Touch &t = touches[i - 1];
        if (makes.count(t.word) && func.compare(0, t.func.size() + 1, t.func + "_") == 0) {
            d = diagnostic_at(t);
        }
    }
    d.message = (d.word.empty() ? "k." + func + " " : "") + message;
    d.hint = hint;
    throw ScriptError(d);
}

}  // namespace

bool is_unplaced(const Function &f) {
    const LoopLevel &level = f.schedule().compute_level();
    return level.func_name().empty() && level.var_name().empty();
}

std::map<std::string, ThreadPlace> thread_places(const PipelineView &view) {
    Places places(view);
    std::map<std::string, ThreadPlace> all;
    for (const auto &[name, f] : places.functions()) {
        all[name] = places.thread_place(f);
    }
    return all;
}

void store_in_registers(const PipelineView &view) {
    Places places(view);
    for (const auto &f : places.functions()) {
        Function func = f.second;
        if (func.schedule().memory_type() == MemoryType::Auto && places.has_too_little_room(func)) {
            func.schedule().memory_type() = MemoryType::Stack;
        }
    }
}

void check_places(const Binding &binding, const PipelineView &view) {
    Places places(view);
    const std::set<std::string> computes = {"compute_at", "compute_inline"};
    for (const auto &[name, f] : places.functions()) {
        if (const auto circle = places.circle_of(f); !circle.empty()) {
            std::string text = places.name_of(f);
            for (size_t i = 1; i < circle.size(); i++) {
                text += (i == 1 ? " in a loop of " : ", that in one of ") + places.name_of(circle[i]);
            }
            fail(binding, places.name_of(f), computes, "computes " + text + ": these loops are in each other",
                 "compute one of them at a loop of what reads it");
        }
    }
    for (const auto &[name, f] : places.functions()) {
        const std::string func = places.name_of(f);
        if (const auto cut = places.computed_in_loop_cut_with(TailStrategy::PredicateStores, f)) {
            const std::string reader = places.name_of(cut->first);
            fail(binding, is_unplaced(f) ? reader : func, computes,
                 "has " + func + " computed in the loop \"" + cut->second + "\" of " + reader +
                     ", which is cut with \"predicate_stores\": its turns beyond the end store nothing of " + reader +
                     ", and would still read what " + func + " needs",
                 "cut that loop with \"guard\"");
        }
        const ThreadPlace &place = places.thread_place(f);
        if (place.around > 0 && place.own > 0 && place.around + place.own > place.nest) {
            fail(binding, func, computes,
                 "puts the loops over threads of " + func + " inside of those of " + place.consumer +
                     ", where the threads of a block are shared out already",
                 "compute " + func + " at a loop outside of the threads, or give it no threads of its own");
        }
        const MemoryType memory = f.schedule().memory_type();
        const bool of_thread = memory == MemoryType::Register || memory == MemoryType::Stack;
        if (place.own > 0) {
            if (const auto consumer = places.runs_in_threads_of(f)) {
                const std::string reader = places.name_of(*consumer);
                fail(binding, func, {"gpu_threads", "gpu_lanes", "gpu_tile", "gpu"},
                     "gives " + func + " loops over threads; it is placed nowhere, so each thread of " + reader + " computes it",
                     "compute " + func + " at a loop outside of the threads, or give it no threads of its own");
            }
        }
        if (const auto both = places.runs_in_and_beside_threads(f)) {
            const std::string in = places.name_of(both->first), beside = places.name_of(both->second);
            fail(binding, beside, computes,
                 "has " + func + " computed once in the threads of " + in + " and once outside of them for " + beside +
                     ", as it is placed nowhere: both would be in one array of the block",
                 "say where " + func + " is computed, or give the loops of " + beside + " to threads");
        }
        if (place.around > 0 && place.around_memory > 0 && place.around < place.nest && !of_thread) {
            fail(binding, func, computes,
                 "puts " + func + " between two loops over threads of " + place.consumer +
                     ", where some threads share it and others do not: its memory is not the block's there",
                 "compute it outside of both loops, or inside of both, or say store_in \"register\"");
        }
        if (memory != MemoryType::Auto && places.has_too_little_room(f)) {
            fail(binding, func, {"store_in"},
                 "puts " + func + ", which each thread of " + place.consumer +
                     " has for itself, in memory of the block or the device; there is room for the threads of " + place.consumer +
                     ", and its block may have more",
                 "say store_in \"register\"");
        }
        if (const std::string loop = places.loop_with_both(f); !loop.empty()) {
            fail(binding, func, {"store_at", "store_root", "async"},
                 "keeps " + func + " from turn to turn of \"" + loop +
                     "\", and each turn needs a part of it that moves with the loop and one that stays: what lies between both "
                     "would be taken for computed",
                 "say hoist_storage, which moves the memory and computes all of it in each turn, or leave this out");
        }
    }
}

}  // namespace halyard
