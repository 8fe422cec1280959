#include "reference.h"

#include <fmt/format.h>

#include "schedules.h"
#include "targets.h"
#include "text.h"

namespace halyard::explore {

namespace {

// No fusion, no split, nothing that could be wrong; and nothing is computed twice, as it would be by Halide's default,
// which inlines.
const char *const kRoots = R"(-- Every Func at the root: what candidates are checked against.
return schedule "{}" {{
  target = "{}",
  apply = function(k)
    for _, name in ipairs(k:names()) do
      k[name]:compute_root()
    end
  end,
}}
)";

}  // namespace

std::vector<Trusted> trusted_schedules(const Task &task, const std::string &folder) {
    const auto targets = resolve_targets(task.target);
    const std::string place = target_features(targets.front()).count("cuda") > 0 ? "cuda" : "cpu";
    std::vector<Trusted> unfused, others;
    if (task.generator.empty()) {
        for (const auto &s : schedules_of(task.op)) {
            if (s.place == place) {
                (ends_with(s.name, ".unfused") ? unfused : others).push_back({s.name, s.path});
            }
        }
    }
    const std::string roots = folder + "/roots.lua";
    write_file(roots, fmt::format(kRoots, task.op, place));
    std::vector<Trusted> all = unfused;
    if (place == "cpu") {  // a GPU kernel needs its blocks
        all.push_back({"every Func at the root", roots});
    }
    all.insert(all.end(), others.begin(), others.end());
    all.push_back({kNoSchedule, kNoSchedule});
    return all;
}

}  // namespace halyard::explore
