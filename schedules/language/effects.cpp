#include "language/effects.h"

#include <algorithm>
#include <map>

#include "language/definitions.h"
#include "language/reads.h"

namespace halyard {

using namespace Halide;
using Internal::Function;

namespace {

bool is_output(const PipelineView &view, const Function &f) {
    return std::any_of(view.outputs().begin(), view.outputs().end(), [&](const Function &o) { return o.same_as(f); });
}

// Whether a Func that the outputs need calls this one.
bool is_read(const PipelineView &view, const Function &f) {
    for (const auto &other : Internal::build_environment(view.outputs())) {
        const auto calls = Internal::find_direct_calls(other.second);
        if (!other.second.same_as(f) && calls.count(f.name()) > 0) {
            return true;
        }
    }
    return false;
}

bool is_unplaced(const PipelineView &view, const Function &f) {
    const LoopLevel &level = f.schedule().compute_level();
    return !is_output(view, f) && level.func_name().empty() && level.var_name().empty();
}

// What has updates is computed in the innermost loop where nothing else was said.
bool is_inline(const PipelineView &view, const Function &f) {
    return f.can_be_inlined() && is_unplaced(view, f);
}

const Word *word_named(const std::string &name) {
    for (const Word &w : words()) {
        if (name == w.name) {
            return &w;
        }
    }
    return nullptr;
}

}  // namespace

void check_effect(const Call &call, const Word &word) {
    const std::string &name = call.self.func_name;
    if (word.effect == Effect::kCuda && !call.binding.target.has_feature(Target::CUDA)) {
        call.fail("is for CUDA, and has no effect on the host", "leave it out, or ask `if target:has \"cuda\" then`");
    }
    if (call.self.kind == Handle::kExpr || call.self.kind == Handle::kDimension) {
        return;
    }
    const Function f = call.func().function();
    const PipelineView &view = call.binding.view();
    if ((word.effect == Effect::kInside || word.effect == Effect::kMemory) && is_output(view, f)) {
        call.fail("has no effect on " + name + ", an output: it is computed at the root, into the memory of the caller",
                  "say it of what " + name + " reads, or change the loops of " + name);
    }
    const std::string said = word.name;
    if (said == "in_" && call.args[0].handles.empty() && !is_read(view, f)) {
        call.fail("has no effect on " + name + ", which nothing reads", "stage what " + name + " reads");
    }
    if (said == "prefetch") {
        const Handle &what = call.args[0].handles[0];
        if (needs_of(f).count(Func(what.func).name()) == 0) {
            call.fail("has no effect: " + name + " does not read " + what.func_name);
        }
    }
}

namespace {

// One of which the memory is as long as what is needed of it; "" where there is none.
std::string open_dimension(const Function &f) {
    for (const Internal::StorageDim &d : f.schedule().storage_dims()) {
        if (!d.bound.defined()) {
            return loop_name(d.var);
        }
    }
    return "";
}

}  // namespace

void check_buffers_in_turn(const Binding &binding, const PipelineView &view) {
    for (const Touch &t : binding.touches()) {
        const auto entry = view.funcs().find(t.func);
        if (t.word != "ring_buffer" || entry == view.funcs().end()) {
            continue;
        }
        const Function &f = entry->second.function;
        const Expr &buffers = f.schedule().ring_buffer();
        if (!buffers.defined()) {
            continue;
        }
        const auto number = Internal::as_const_int(buffers);
        Diagnostic d = diagnostic_at(t);
        if (f.has_update_definition() && number != 1) {
            d.message = "is for a Func without updates: those of " + t.func + " would read the first of the buffers, whichever they write";
            d.hint = "say it of a copy, which k." + t.func + ":in_() makes";
        } else if (f.schedule().async() && (!number || *number < 2)) {
            d.message = "takes a number of two or more where " + t.func + " is async: it is computed up to two turns ahead of who reads it";
        } else if (const std::string open = open_dimension(f); f.schedule().async() && !open.empty()) {
            d.message = "is said of " + t.func + ", which is async: where a turn needs more or less of \"" + open +
                        "\" than another, as at an end, its buffer would lie in that of the other";
            d.hint = "say k." + t.func + ":bound_storage(\"" + open + "\", ...), with what a turn needs at most, of each dimension";
        } else {
            continue;
        }
        throw ScriptError(d);
    }
}

void check_fused_async(const Binding &binding, const PipelineView &view) {
    std::map<std::string, Function> functions;
    for (const auto &entry : view.funcs()) {
        functions.emplace(entry.second.function.name(), entry.second.function);
    }
    const auto check = [&](const Function &f, const Internal::Definition &d) {
        const auto other = functions.find(d.schedule().fuse_level().level.func_name());
        if (other != functions.end() && (f.schedule().async() || other->second.schedule().async())) {
            const std::string name = view.name_of(f.name());
            Diagnostic at;
            for (const Touch &t : binding.touches()) {
                if (t.word == "compute_with" && t.func == name) {
                    at = diagnostic_at(t);
                }
            }
            at.message = "runs " + name + " in the loops of " + view.name_of(other->first) +
                         ", of which one is async: the thread of one would read what the other's has not stored yet";
            at.hint = "leave out async, or compute each in loops of its own";
            throw ScriptError(at);
        }
    };
    for (const auto &entry : functions) {
        for_each_definition(entry.second, [&](const Internal::Definition &d, int) { check(entry.second, d); });
    }
}

void check_placed(const Binding &binding, const PipelineView &view) {
    for (const Touch &t : binding.touches()) {
        const Word *word = word_named(t.word);
        const auto entry = view.funcs().find(t.func);
        if (!word || !word->needs_place() || entry == view.funcs().end()) {
            continue;
        }
        const Function &f = entry->second.function;
        // Halide checks no buffers in turn where it was not said what they follow.
        const bool buffers_in_turn = t.word == "ring_buffer" || t.word == "async";
        if (!is_inline(view, f) && !(buffers_in_turn && is_unplaced(view, f))) {
            continue;
        }
        Diagnostic d = diagnostic_at(t);
        d.message = is_inline(view, f)
                        ? "has no effect on " + t.func + ", which is computed inline: it has no loops and no memory of its own"
                        : "is for a Func of which it is said where it is computed";
        d.hint = "place it by k." + t.func + ":compute_at(...) or k." + t.func + ":compute_root(), or leave this out";
        throw ScriptError(d);
    }
}

}  // namespace halyard
