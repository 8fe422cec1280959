#include "language/versions.h"

#include "language/open_numbers.h"
#include "lowering/guarded_loads.h"

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// Ends a lowering where custom passes begin.
struct Lowered {
    Stmt body;
};

class Take : public IRMutator {
public:
    using IRMutator::mutate;

    Stmt mutate(const Stmt &s) override {
        throw Lowered{s};
    }
};

std::vector<Function> copies_of(const std::vector<Function> &outputs) {
    return deep_copy(outputs, build_environment(outputs)).first;
}

std::vector<Function> functions_of(Pipeline pipeline) {
    std::vector<Function> functions;
    for (const Func &f : pipeline.outputs()) {
        functions.push_back(f.function());
    }
    return functions;
}

Pipeline copy_of(const Pipeline &pipeline) {
    std::vector<Func> funcs;
    for (const Function &f : copies_of(functions_of(pipeline))) {
        funcs.emplace_back(f);
    }
    Pipeline copy(funcs);
    return copy;
}

}  // namespace

std::vector<ScheduleVersion> read_versions(Script &script, PipelineView &view) {
    Binding binding(script.host(), view);
    binding.only_conditions = true;
    std::vector<ScheduleVersion> versions;
    const auto condition = [&](lua_State *L) {
        const Handle *h = Binding::handle_at(L, -1);
        if (!h || h->kind != Handle::kExpr || !h->expr.type().is_bool()) {
            return false;
        }
        versions.push_back({h->expr, {}});
        return true;
    };
    const auto set = script.versions([&](lua_State *L) { binding.push_funcs(L); }, condition);
    versions.resize(set.size());
    for (size_t i = 0; i < set.size(); i++) {
        versions[i].set = set[i];
    }
    return versions;
}

const ScheduleVersion &version_at(const std::vector<ScheduleVersion> &versions, const BufferSizes &sizes) {
    IndexValue value(sizes);
    for (const auto &v : versions) {
        if (v.condition.defined() && value(v.condition).value_or(0) != 0) {
            return v;
        }
    }
    return versions.back();
}

void set_open_numbers(const Pipeline &pipeline, const Script &script, const Script::Version &version) {
    set_open_numbers(pipeline, [&](const std::string &name) {
        const auto own = version.find(name);
        if (own != version.end()) {
            return own->second;
        }
        for (const Tunable &t : script.header().params) {
            if (t.name == name && !t.is_generator_param) {
                return t.value;
            }
        }
        return std::string();
    });
}

VersionedPipeline::VersionedPipeline(const Pipeline &pipeline, const Script &script, const Script::Version &version)
    : pipeline_(copy_of(pipeline)) {
    set_open_numbers(pipeline_, script, version);
    view_ = std::make_unique<PipelineView>(pipeline_);
    requirements_ = pipeline.requirements();
}

Stmt VersionedPipeline::lowered(const std::string &name, const Target &target) const {
    Take take;
    std::vector<Stmt> requirements = requirements_;
    const std::vector<Stmt> &own = pipeline_.requirements();
    requirements.insert(requirements.end(), own.begin(), own.end());
    try {
        lower(functions_of(pipeline_), name, target, {}, LinkageType::ExternalPlusMetadata, requirements, false, {&take});
    } catch (const Lowered &l) {
        return guard_loads_of_conditions()->mutate(l.body);
    }
    return Stmt();
}

}  // namespace halyard
