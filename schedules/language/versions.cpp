#include "language/versions.h"

#include <functional>
#include <map>

#include "language/exact_numbers.h"
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

// Has what refers to an array refer to another one of the same name.
class Refer : public IRMutator {
    using IRMutator::visit;

    Expr visit(const Internal::Call *op) override {
        const Expr e = IRMutator::visit(op);
        const auto *call = e.as<Internal::Call>();
        return call && call->param.defined() && call->param.is_buffer()
                   ? Internal::Call::make(call->type, call->name, call->args, call->call_type, call->func, call->value_index, call->image,
                                          to_(call->param))
                   : e;
    }

    Expr visit(const Variable *op) override {
        return op->param.defined() && op->param.is_buffer() ? Variable::make(op->type, op->name, to_(op->param)) : Expr(op);
    }

    Expr visit(const Load *op) override {
        const Expr e = IRMutator::visit(op);
        const auto *load = e.as<Load>();
        return load && load->param.defined()
                   ? Load::make(load->type, load->name, load->index, load->image, to_(load->param), load->predicate, load->alignment)
                   : e;
    }

    Stmt visit(const Store *op) override {
        const Stmt s = IRMutator::visit(op);
        const auto *store = s.as<Store>();
        return store && store->param.defined()
                   ? Store::make(store->name, store->value, store->index, to_(store->param), store->predicate, store->alignment)
                   : s;
    }

    const std::function<Parameter(const Parameter &)> to_;

public:
    explicit Refer(std::function<Parameter(const Parameter &)> to) : to_(std::move(to)) {}
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

bool same(const Expr &a, const Expr &b) {
    return a.defined() == b.defined() && (!a.defined() || equal(a, b));
}

Expr both(const Expr &a, const Expr &b) {
    return a.defined() ? a && b : b;
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
    std::map<size_t, Expr> conditions, costs;
    const auto take = [](lua_State *L, bool is_condition, Expr &into) {
        const Handle *h = Binding::handle_at(L, -1);
        if (!is_condition && lua_isinteger(L, -1) && lua_tointeger(L, -1) == int32_t(lua_tointeger(L, -1))) {
            into = make_const(Int(64), int64_t(lua_tointeger(L, -1)));
        } else if (h && h->kind == Handle::kExpr && (is_condition ? h->expr.type().is_bool() : h->expr.type().is_int())) {
            into = is_condition ? h->expr : cast<int64_t>(exact_of(h->expr));
        }
        return into.defined();
    };
    const auto set =
        script.versions([&](lua_State *L) { binding.push_funcs(L); }, {[&](lua_State *L, size_t i) { return take(L, true, conditions[i]); },
                                                                       [&](lua_State *L, size_t i) { return take(L, false, costs[i]); }});
    std::vector<ScheduleVersion> versions(set.size());
    Expr least;  // of the costs behind a version that are beside it
    for (size_t i = set.size(); i-- > 0;) {
        const Expr condition = conditions[i], cost = costs[i];
        const bool beside = i + 1 < set.size() && least.defined() && cost.defined() && same(condition, conditions[i + 1]);
        versions[i] = {beside ? both(condition, cost <= least) : condition, set[i], condition, cost};
        least = beside ? min(cost, least) : cost;
    }
    return versions;
}

std::string text_of(const Script::Version &version) {
    std::string text;
    for (const auto &[name, value] : version) {
        text += (text.empty() ? "" : ",") + name + "=" + value;
    }
    return text;
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

OpenNumbers open_numbers(const Script &script, const Script::Version &version) {
    std::map<std::string, std::string> values;
    for (const Tunable &t : script.header().params) {
        if (!t.is_generator_param) {
            values.emplace(t.name, t.value);
        }
    }
    for (const auto &[name, value] : version) {
        values[name] = value;
    }
    return [values](const std::string &name) {
        const auto found = values.find(name);
        return found == values.end() ? std::string() : found->second;
    };
}

VersionedPipeline::VersionedPipeline(const Pipeline &pipeline, const Script &script, const Script::Version &version)
    : pipeline_(copy_of(pipeline)), open_numbers_(open_numbers(script, version)) {
    set_open_numbers(pipeline_, open_numbers_);
    take_arrays();
    view_ = std::make_unique<PipelineView>(pipeline_);
    requirements_ = pipeline.requirements();
}

// Has the copy refer to arrays of its own of the same names, so that what a version promises of them (set_bounds) is promised of the calls that
// take it, and of no others. Outputs it shares.
void VersionedPipeline::take_arrays() {
    std::map<std::string, Parameter> copies;
    for (const Function &f : functions_of(pipeline_)) {
        for (const Parameter &p : f.output_buffers()) {
            copies.emplace(p.name(), p);
        }
    }
    std::function<Parameter(const Parameter &)> copy_of;
    const auto refer = [&](const Expr &e) { return e.defined() ? Refer(copy_of).mutate(e) : e; };
    copy_of = [&](const Parameter &p) {
        const auto known = copies.find(p.name());
        if (known != copies.end()) {
            return known->second;
        }
        Parameter copy(p.type(), true, p.dimensions(), p.name());
        copies.emplace(p.name(), copy);
        arrays_.emplace(p.name(), p);
        copy.set_host_alignment(p.host_alignment());
        for (int d = 0; d < p.dimensions(); d++) {
            const BufferConstraint &c = p.buffer_constraints()[size_t(d)];
            copy.set_min_constraint(d, refer(c.min));
            copy.set_extent_constraint(d, refer(c.extent));
            copy.set_stride_constraint(d, refer(c.stride));
            copy.set_min_constraint_estimate(d, c.min_estimate);
            copy.set_extent_constraint_estimate(d, c.extent_estimate);
        }
        return copy;
    };
    Refer to_copies(copy_of);
    for (auto &f : build_environment(functions_of(pipeline_))) {
        f.second.mutate(&to_copies);
    }
}

Stmt VersionedPipeline::lowered(const std::string &name, const Target &target) const {
    Take take;
    std::vector<Stmt> requirements = requirements_;
    const std::vector<Stmt> &own = pipeline_.requirements();
    requirements.insert(requirements.end(), own.begin(), own.end());
    try {
        lower(functions_of(pipeline_), name, target, {}, LinkageType::ExternalPlusMetadata, requirements, false, {&take});
    } catch (const Lowered &l) {
        Refer to_originals([this](const Parameter &p) {
            const auto original = arrays_.find(p.name());
            return original == arrays_.end() ? p : original->second;
        });
        const Stmt body = set_open_numbers_required(open_numbers_)->mutate(l.body);
        return guard_loads_of_conditions()->mutate(to_originals.mutate(body));
    }
    return Stmt();
}

}  // namespace halyard
