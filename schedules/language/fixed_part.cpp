#include "language/fixed_part.h"

#include <algorithm>
#include <set>

#include "language/binding.h"
#include "language/versions.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;
using nlohmann::json;

namespace {

// Words that ask something of a Func, or make another one of it.
const std::set<std::string> kNoSchedule = {"clone_in", "in_", "type"};

const char *kind_of(ForType type) {
    switch (type) {
    case ForType::Serial: return "serial";
    case ForType::Parallel: return "parallel";
    case ForType::Vectorized: return "vectorized";
    case ForType::Unrolled: return "unrolled";
    default: return "other";
    }
}

class FixedPart {
public:
    FixedPart(const PipelineView &view, const Binding &binding, const BufferSizes &sizes) : view_(view), binding_(binding), sizes_(sizes) {}

    json describe(const std::set<std::string> &of_the_algorithm) {
        json j = {{"files", json::array()}, {"open", nullptr}, {"funcs", json::object()}, {"wrappers", json::array()}};
        std::set<std::string> open;
        if (const auto &part = binding_.open_part()) {
            open = open_funcs(*part, of_the_algorithm);
            j["open"] = {{"line", part->line}, {"target", part->target}, {"funcs", open}};
        }
        for (const auto &[name, entry] : view_.funcs()) {
            for (const auto &[reader, wrapper] : entry.function.wrappers()) {
                j["wrappers"].push_back({{"name", view_.name_of(Function(wrapper).name())},
                                         {"of", name},
                                         {"reader", reader.empty() ? "" : view_.name_of(reader)},
                                         {"dims", dimensions_of(Function(wrapper))}});
            }
            if (!entry.parameter.defined() && !open.count(name)) {
                j["funcs"][name] = func(entry);
            }
        }
        return j;
    }

private:
    static bool schedules(const Touch &t) {
        return kNoSchedule.count(t.word) == 0;
    }

    // Those that are named, else those of the algorithm of which nothing is said.
    std::set<std::string> open_funcs(const OpenPart &part, const std::set<std::string> &of_the_algorithm) const {
        if (binding_.target.has_feature(Target::CUDA)) {
            fail(part, "is for schedules of the host: the search makes none for a GPU", "");
        }
        std::set<std::string> open(part.funcs.begin(), part.funcs.end());
        std::set<std::string> said;
        for (size_t i = 0; i < binding_.touches().size(); i++) {
            const Touch &t = binding_.touches()[i];
            if (!schedules(t)) {
                continue;
            }
            said.insert(t.func);
            if (open.count(t.func)) {
                fail(part, t.func + " is open here, and scheduled in line " + std::to_string(t.line),
                     "take it out of the names, or take its statements away");
            }
            if (i >= part.touches) {
                fail(part, "more is scheduled after it, in line " + std::to_string(t.line),
                     "put it last: what is found is written in its place, and names the loops that are there");
            }
        }
        for (const auto &name : part.funcs.empty() ? of_the_algorithm : std::set<std::string>()) {
            if (!said.count(name)) {
                open.insert(name);
            }
        }
        if (open.empty()) {
            fail(part, "leaves nothing open: every Func is scheduled", "take the statements of some away, or this one");
        }
        return open;
    }

    [[noreturn]] static void fail(const OpenPart &part, const std::string &message, const std::string &hint) {
        Diagnostic d;
        d.file = part.file;
        d.line = part.line;
        d.word = "open";
        d.message = message;
        d.hint = hint;
        throw ScriptError(std::move(d));
    }

    json func(const PipelineView::Entry &entry) const {
        Function f = entry.function;
        f.lock_loop_levels();
        const LoopLevel &level = f.schedule().compute_level();
        json j = {{"place", entry.is_output || level.is_root() ? "root"
                            : level.is_inlined()               ? "inlined"
                                                               : "at"},
                  {"stages", json::array()}};
        if (j["place"] == "at") {
            j["in"] = view_.name_of(level.func());
            j["loop"] = loop_name(level.var().name());
        }
        j["stages"].push_back(stage(f.definition()));
        for (const auto &u : f.updates()) {
            j["stages"].push_back(stage(u));
        }
        return j;
    }

    // Of versions the first: the one for sizes that fill the tiles.
    json stage(const Definition &definition) const {
        if (!definition.specializations().empty() && definition.specializations().front().failure_message.empty()) {
            return stage(definition.specializations().front().definition);
        }
        const StageSchedule &s = definition.schedule();
        const LoopNamer name(s);
        json splits = json::array(), loops = json::array();
        for (const Split &split : s.splits()) {
            const auto factor = split.factor.defined() ? IndexValue(sizes_)(split.factor) : std::nullopt;
            splits.push_back({{"kind", split.split_type == Split::SplitVar   ? "split"
                                       : split.split_type == Split::FuseVars ? "fuse"
                                                                             : "rename"},
                              {"old", name(split.old_var)},
                              {"outer", name(split.outer)},
                              {"inner", name(split.inner)},
                              {"factor", factor.value_or(1)}});
        }
        for (const Dim &dim : s.dims()) {
            if (dim.var != Var::outermost().name()) {
                loops.push_back({{"name", name(dim.var)}, {"kind", kind_of(dim.for_type)}});
            }
        }
        return {{"splits", splits}, {"loops", loops}};
    }

    const PipelineView &view_;
    const Binding &binding_;
    const BufferSizes &sizes_;
};

}  // namespace

void set_numbers_of_script(const Pipeline &pipeline, PipelineView &view, const std::string &path, const ScriptOptions &options,
                           const BufferSizes &sizes) {
    Script script(path, options);
    set_open_numbers(pipeline, open_numbers(script, version_at(read_versions(script, view), sizes).set));
}

json describe_script(PipelineView &view, const Target &target, const std::string &path, const ScriptOptions &options,
                     const BufferSizes &sizes) {
    std::set<std::string> of_the_algorithm;
    for (const auto &[name, entry] : view.funcs()) {
        if (!entry.parameter.defined()) {
            of_the_algorithm.insert(name);
        }
    }
    Script script(path, options);
    const Script::Version set = version_at(read_versions(script, view), sizes).set;
    Binding binding(script.host(), view);
    binding.target = target;
    binding.may_be_open = true;
    script.apply([&](lua_State *L) { binding.push_funcs(L); }, set);
    json j = FixedPart(view, binding, sizes).describe(of_the_algorithm);
    j["files"] = script.header().files;
    return j;
}

}  // namespace halyard
