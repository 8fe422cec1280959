#include "language/unsafe_loops.h"

#include <algorithm>

#include "language/definitions.h"

namespace halyard {

using namespace Halide;
using Internal::Definition;
using Internal::Dim;
using Internal::ForType;
using Internal::Function;

namespace {

// The Func in whose loops a level is; nullptr at the root.
const Function *func_of(LoopLevel level, const PipelineView &view) {
    level.lock();
    if (level.is_inlined() || level.is_root()) {
        return nullptr;
    }
    for (const auto &entry : view.funcs()) {
        if (entry.second.function.name() == level.func()) {
            return &entry.second.function;
        }
    }
    return nullptr;
}

bool is_inlined(LoopLevel level) {
    return level.lock().is_inlined();
}

// What is stored nowhere else is stored where it is computed.
bool is_stored_further_out(const Function &f) {
    LoopLevel store = f.schedule().store_level(), compute = f.schedule().compute_level();
    return !is_inlined(store) && !(store.lock() == compute.lock());
}

bool has_versions(const Function &f) {
    bool any = false;
    for_each_definition(f, [&](const Definition &d, int) { any = any || !d.specializations().empty(); });
    return any;
}

bool is_gpu_loop(const Dim &dim) {
    return Internal::is_gpu(dim.for_type);
}

bool has_blocks(const Function &f) {
    bool any = false;
    for_each_definition(f, [&](const Definition &d, int) {
        const auto &dims = d.schedule().dims();
        any = any || std::any_of(dims.begin(), dims.end(), is_gpu_loop);
    });
    return any;
}

// Whether a loop of f is one over blocks or threads, or is inside of one.
bool is_on_device_at(const Function &f, LoopLevel level) {
    level.lock();
    bool any = false;
    for_each_definition(f, [&](const Definition &d, int stage) {
        const std::string loops = f.name() + ".s" + std::to_string(stage) + ".";
        const auto &dims = d.schedule().dims();  // innermost first
        const auto loop = std::find_if(dims.begin(), dims.end(), [&](const Dim &dim) { return level.match(loops + dim.var); });
        any = any || std::any_of(loop, dims.end(), is_gpu_loop);
    });
    return any;
}

// Whether kernels compute a Func: it has loops over blocks or threads, or is computed in those of another one.
bool is_on_device(const Function &f, const PipelineView &view) {
    const Function *around = func_of(f.schedule().compute_level(), view);
    if (has_blocks(f) || !around) {
        return has_blocks(f);
    }
    return has_blocks(*around) ? is_on_device_at(*around, f.schedule().compute_level()) : is_on_device(*around, view);
}

// A Func that is computed on the other side of host and device; "" where there is none.
std::string on_the_other_side(const Function &f, const PipelineView &view) {
    const bool device = is_on_device(f, view);
    for (const auto &[name, other] : view.funcs()) {
        const bool computed = !other.parameter.defined() && (other.is_output || !is_inlined(other.function.schedule().compute_level()));
        if (computed && is_on_device(other.function, view) != device) {
            return name;
        }
    }
    return "";
}

// A loop over tasks that a vectorized loop is around; "" where there is none. Innermost loops come first.
std::string tasks_in_a_vector(const Function &f) {
    std::string found;
    for_each_definition(f, [&](const Definition &d, int) {
        std::string inside;
        for (const Dim &dim : d.schedule().dims()) {
            if (dim.for_type == ForType::Vectorized && !inside.empty()) {
                found = inside;
            } else if (dim.for_type == ForType::Parallel) {
                inside = loop_name(dim.var);
            }
        }
    });
    return found;
}

}  // namespace

void check_unsafe_loops(const Binding &binding, const PipelineView &view) {
    for (const Touch &t : binding.touches()) {
        const auto entry = view.funcs().find(t.func);
        if (entry == view.funcs().end()) {
            continue;
        }
        const Function &f = entry->second.function;
        Diagnostic d = diagnostic_at(t);
        if (t.word == "async" && f.schedule().async() && f.has_update_definition() && is_stored_further_out(f)) {
            d.message = "is for a Func without updates where it is stored further out than it is computed: the first values of " + t.func +
                        " for a turn would be written over results that the turn before still reads";
            d.hint = "store it where it is computed, or say async of a copy, which k." + t.func + ":in_() makes";
            throw ScriptError(d);
        }
        if (t.word == "async" && f.schedule().async() && binding.target.has_feature(Target::CUDA)) {
            if (const std::string other = on_the_other_side(f, view); !other.empty()) {
                d.message = "is for libraries that compute all on the host or all on the device: " + t.func + " is on one side, and " +
                            other + " on the other, and nothing is copied between them before both have ended";
                d.hint = "give both loops over blocks, or neither, or leave this out";
                throw ScriptError(d);
            }
        }
        if (t.word == "fold_storage" && f.schedule().async()) {
            d.message = "is said of " + t.func +
                        ", which is async: where a loop goes around the one over what is folded, the thread that computes "
                        "it and the one that reads it wait for each other for ever";
            d.hint = "leave out one of the two, or say ring_buffer";
            throw ScriptError(d);
        }
        if (t.word == "fold_storage") {
            const Function *around = func_of(f.schedule().compute_level(), view);
            if (around && has_versions(*around)) {
                d.message = "is said of " + t.func + ", which is computed in loops of " + view.name_of(around->name()) +
                            ", and that has other loops by specialize, for which its memory may be too small";
                d.hint = "leave out one of the two; store_root or store_at alone fold what is safe";
                throw ScriptError(d);
            }
        }
        if (t.word.rfind("vectorize", 0) == 0) {
            if (const std::string loop = tasks_in_a_vector(f); !loop.empty()) {
                d.message = "makes a vector of a loop of " + t.func + " that is around its loop \"" + loop + "\" over tasks";
                d.hint = "reorder \"" + loop + "\" to the outside of it";
                throw ScriptError(d);
            }
        }
    }
}

}  // namespace halyard
