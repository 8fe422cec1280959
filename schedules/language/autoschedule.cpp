#include "language/autoschedule.h"

#include <algorithm>
#include <set>

#include <dlfcn.h>

namespace halyard {

using namespace Halide;
using namespace Halide::Internal;

namespace {

// libautoschedule_mullapudi2016.so in the folder of libHalide.so.
std::string plugin_of(const std::string &name) {
    Dl_info info = {};
    dladdr(reinterpret_cast<void *>(&Halide::load_plugin), &info);
    const std::string halide = info.dli_fname ? info.dli_fname : "";
    std::string file = name;
    std::transform(file.begin(), file.end(), file.begin(), [](unsigned char c) { return char(std::tolower(c)); });
    return halide.substr(0, halide.rfind('/') + 1) + "libautoschedule_" + file + ".so";
}

void estimate(const PipelineView &view, const BufferSizes &sizes) {
    for (const auto &[name, entry] : view.funcs()) {
        const auto size = sizes.find(name);
        if (size == sizes.end()) {
            continue;
        }
        for (size_t d = 0; d < size->second.size(); d++) {
            if (entry.parameter.defined()) {
                Parameter p = entry.parameter;
                p.set_min_constraint_estimate(int(d), 0);
                p.set_extent_constraint_estimate(int(d), Expr(int(size->second[d])));
            } else if (entry.is_output && d < entry.function.args().size()) {
                Func(entry.function).set_estimate(Var(entry.function.args()[d]), 0, Expr(int(size->second[d])));
            }
        }
    }
    for (const auto &[name, parameter] : view.scalars()) {
        const auto size = sizes.find(name);
        Parameter p = parameter;
        const bool known = size != sizes.end() && size->second.size() == 1;
        p.set_estimate(cast(p.type(), known ? Expr(int(size->second[0])) : Expr(1)));
    }
}

}  // namespace

const std::vector<std::string> &halide_autoschedulers() {
    static const std::vector<std::string> names = {"Adams2019", "Anderson2021", "Li2018", "Mullapudi2016"};
    return names;
}

BufferSizes estimated_sizes(const PipelineView &view) {
    BufferSizes sizes;
    const auto number = [](const Expr &e) {
        const auto value = e.defined() ? as_const_int(simplify(e)) : std::nullopt;
        return value ? *value : -1;
    };
    for (const auto &[name, entry] : view.funcs()) {
        std::vector<int64_t> extents;
        bool known = true;
        const auto add = [&](const Expr &min, const Expr &extent) {
            known = known && number(min) == 0 && number(extent) > 0;
            extents.push_back(number(extent));
        };
        if (entry.parameter.defined()) {
            for (int d = 0; d < entry.parameter.dimensions(); d++) {
                add(entry.parameter.min_constraint_estimate(d), entry.parameter.extent_constraint_estimate(d));
            }
        } else if (entry.is_output) {
            for (const auto &arg : entry.function.args()) {
                const auto &estimates = entry.function.schedule().estimates();
                const auto it = std::find_if(estimates.begin(), estimates.end(), [&](const Bound &b) { return b.var == arg; });
                known = known && it != estimates.end();
                if (known) {
                    add(it->min, it->extent);
                }
            }
        } else {
            continue;
        }
        if (known) {
            sizes[name] = extents;
        }
    }
    for (const auto &[name, parameter] : view.scalars()) {
        if (const int64_t value = number(parameter.estimate()); value >= 0) {
            sizes[name] = {value};
        }
    }
    return sizes;
}

void autoschedule(const PipelineView &view, const Target &target, const std::string &name, int parallelism, const BufferSizes &sizes) {
    static std::set<std::string> loaded;
    if (loaded.insert(name).second) {
        load_plugin(plugin_of(name));
    }
    estimate(view, sizes);
    std::vector<Func> outputs;
    for (const auto &o : view.outputs()) {
        outputs.emplace_back(o);
    }
    AutoschedulerParams params(name);
    params.extra["parallelism"] = std::to_string(parallelism);
    Pipeline(outputs).apply_autoscheduler(target, params);
}

}  // namespace halyard
