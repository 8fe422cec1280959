#include "explore/measure/reference.h"

#include <map>

#include <fmt/format.h>

#include "kernel/generator_params.h"
#include "kernel/paths.h"
#include "explore/space/query.h"
#include "kernel/schedules.h"
#include "kernel/targets.h"
#include "kernel/text.h"
#include "language/lua_text.h"

namespace halyard::explore {

namespace {

// No fusion, no split, nothing that could be wrong; and nothing is computed twice, as it would be by Halide's default,
// which inlines.
const char *const kRoots = R"(-- Every Func at the root: what candidates are checked against.
return schedule "{}" {{
  target = "{}",
  apply = function(k)
    local too_large = {{ {} }}
    for _, name in ipairs(k:names()) do
      if not too_large[name] then
        k[name]:compute_root()
      end
    end
  end,
}}
)";

// Halide allocates no more than 2 GiB at once, and what is that large is meant to be inlined.
constexpr double kMostBytes = double(1 << 30);

std::string too_large(const Task &task) {
    std::string names;
    for (const auto &[name, f] : describe_pipeline(task, {}).funcs) {
        if (!f.reduction() && !f.output && f.wraps.empty() && f.size() > kMostBytes) {
            names += fmt::format("{}[{}] = true", names.empty() ? "" : ", ", in_quotes(name));
        }
    }
    return names;
}

}  // namespace

std::vector<Trusted> trusted_schedules(const Task &task, const std::string &folder) {
    const std::string place = is_cuda(task.target) ? "cuda" : "cpu";
    std::vector<Trusted> unfused, others;
    if (task.generator.empty()) {
        for (const auto &s : schedules_of(task.op)) {
            if (s.place == place) {
                (ends_with(s.name, ".unfused") ? unfused : others).push_back({s.name, s.path});
            }
        }
    }
    const std::string roots = folder + "/roots.lua";
    write_file(roots, fmt::format(kRoots, task.op, place, task.generator.empty() || is_cuda(task.target) ? "" : too_large(task)));
    std::vector<Trusted> all = unfused;
    if (place == "cpu") {  // a GPU kernel needs its blocks
        all.push_back({"every Func at the root", roots});
    }
    all.insert(all.end(), others.begin(), others.end());
    all.push_back({kNoSchedule, kNoSchedule});
    return all;
}

Assignments whole_params(const Task &task, Assignments params) {
    const std::string executable = task.generator.empty() ? require_piece(paths().generators, "the generator of every op") : task.generator;
    static std::map<std::string, std::vector<GeneratorParam>> known;
    const std::string key = executable + "\n" + task.op;
    if (known.count(key) == 0) {
        known[key] = generator_params(executable, task.op);
    }
    for (const auto &p : known[key]) {
        params.emplace(p.name, p.value);
    }
    return params;
}

Assignments without_own_choices(const Task &task, const Assignments &params) {
    const auto extents = [&](const Assignments &with) {
        std::map<std::string, std::vector<int64_t>> all;
        for (const auto &b : describe_pipeline(task, with).buffers) {
            all[b.first] = b.second.extents;
        }
        return all;
    };
    Assignments rest = params;
    for (const FreeParam &p : free_params(task)) {
        if (!p.number) {
            rest.erase(p.name);
            continue;
        }
        Assignments other = params;
        if (params.count(p.name)) {
            other[p.name] = std::to_string(2 * std::stoll(params.at(p.name)));
            if (extents(other) == extents(params)) {
                rest.erase(p.name);
            }
        }
    }
    return rest;
}

}  // namespace halyard::explore
