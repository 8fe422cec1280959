#include "builds.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "harness.h"
#include "pairs.h"
#include "kernel/paths.h"
#include "kernel/schedules.h"
#include "kernel/targets.h"
#include "language/script.h"

namespace ops_test {

namespace {

const std::string kThisHost = "host";

Assignments small_tiles(const halyard::ScriptHeader &head) {
    Assignments tiles;
    for (const auto &t : head.params) {
        const bool of_tile = t.name == "rows" || t.name == "columns" || t.name == "back";
        if (of_tile && std::count(t.choices.begin(), t.choices.end(), "64")) {
            tiles["set." + t.name] = "64";
        }
    }
    return tiles;
}

bool has_param(const halyard::ScriptHeader &head, const char *name) {
    return std::any_of(head.params.begin(), head.params.end(), [&](const auto &t) { return t.name == name; });
}

// Kernels with tiles of a product have a form for each kind of device.
bool uses_tensor_cores(const halyard::ScriptHeader &head) {
    return has_param(head, "stages") &&
           (has_param(head, "columns") || has_param(head, "key_block") || has_param(head, "panel") || has_param(head, "block"));
}

// With rows = 0 the sizes of a call decide on the tiles, and on the blocks and warps that share one.
bool chooses_tiles(const halyard::ScriptHeader &head) {
    return std::any_of(head.params.begin(), head.params.end(), [](const auto &t) { return t.name == "rows" && t.value == "0"; });
}

// What is open of the number-th schedule of an op.
std::vector<Assignments> assignments_of(const std::vector<Choice> &open, size_t number) {
    constexpr size_t kFew = 2;  // both kinds of device
    std::vector<Assignments> all = all_pairs(open);
    if (number == 0) {
        return tests_pairs() ? all : with_every_value(all);
    }
    all = with_every_value(all);
    if (tests_pairs() || all.size() <= kFew) {
        return all;
    }
    // Other ones for each schedule.
    std::rotate(all.begin(), all.begin() + long(number * kFew % all.size()), all.end());
    std::stable_partition(all.begin() + 1, all.end(), [&](const Assignments &a) {
        const auto device = a.find("devices");
        return device == a.end() || device->second != all.front().at("devices");
    });
    all.resize(kFew);
    return all;
}

// Of a night, all values of a choice; else the first.
std::vector<std::string> values_of(const OpTest &test, const std::string &name) {
    for (const auto &c : test.choices()) {
        if (c.name == name) {
            return tests_pairs() ? c.values : std::vector<std::string>{c.values.front()};
        }
    }
    return {""};
}

// How weights in blocks lie. All ops unpack them by the same code, for which every format is tested with gemm_q at every level, and with
// every op at this host's.
std::set<std::string> held_by_gemm_q(const OpTest &test) {
    std::set<std::string> names;
    for (const char *name : {"format", "group_size", "interleaved", "zero_points"}) {
        if (test.is_of_host(name)) {
            names.insert(name);
        }
    }
    return names;
}

// With all that an op can add to its sums, which the compiler might take for terms of these.
Assignments with_additions(const OpTest &test, Assignments choices) {
    for (const auto &c : test.choices()) {
        if (c.name.rfind("add_", 0) == 0 || c.name == "scaling" || c.name == "activations") {
            choices[c.name] = c.values.back();
        } else if (c.name == "format") {
            choices[c.name] = "q4_1";  // which has a minimum, too
        }
    }
    return choices;
}

}  // namespace

bool tests_pairs() {
    return std::getenv("HALYARD_TEST_PAIRS") || std::getenv("HALYARD_UPDATE_ACCURACY");
}

Assignments first_choices(const OpTest &test) {
    Assignments choices;
    for (const auto &c : test.choices()) {
        choices[c.name] = c.values.front();
    }
    return choices;
}

std::vector<Assignments> builds_of_same_bits(const OpTest &test) {
    std::vector<Assignments> builds;
    for (const std::string &schedule : values_of(test, "schedule")) {
        for (const std::string type : {"bfloat16", "float32"}) {
            Assignments choices = type == std::string("float32") ? with_additions(test, first_choices(test)) : first_choices(test);
            choices["target"] = kThisHost;
            for (const auto &[name, value] : Assignments{{"type", type}, {"schedule", schedule}}) {
                if (choices.count(name)) {
                    choices[name] = value;
                }
            }
            test.settle(choices);
            if (std::find(builds.begin(), builds.end(), choices) == builds.end()) {
                builds.push_back(choices);
            }
        }
    }
    return builds;
}

std::vector<Assignments> builds_of_pairs(const OpTest &test, const std::string &target) {
    std::vector<Assignments> builds;
    for (auto choices : all_pairs(test.choices())) {
        if (choices["target"] == target) {
            test.settle(choices);
            if (std::find(builds.begin(), builds.end(), choices) == builds.end()) {
                builds.push_back(choices);
            }
        }
    }
    return builds;
}

std::vector<Assignments> builds_for(const OpTest &test, const std::string &target) {
    const std::vector<Assignments> builds = builds_of_pairs(test, target);
    if (tests_pairs()) {
        return builds;
    }
    return target == kThisHost ? with_every_value(builds, builds_of_same_bits(test)) : with_every_value(builds, {}, held_by_gemm_q(test));
}

std::map<std::string, Assignments> builds_of_schedules(const OpTest &test) {
    std::map<std::string, Assignments> of;
    for (const Assignments &build : builds_for(test, kThisHost)) {
        if (const auto schedule = build.find("schedule"); schedule != build.end()) {
            of.emplace(schedule->second, build);
        }
    }
    return of;
}

std::vector<Assignments> cuda_builds(const OpTest &test, const std::string &op) {
    std::vector<Assignments> builds;
    size_t number = 0;
    // Large tiles in the first build for a device; small ones take the compiler and the emulator a fraction of the time.
    std::set<std::string> with_large_tiles;
    for (const auto &schedule : halyard::schedules_of(op)) {
        if (schedule.place != kCudaTarget) {
            continue;
        }
        halyard::ScriptOptions options;
        options.lib_dirs = {halyard::paths().schedules};
        options.target = halyard::resolve_targets(kCudaTarget).front();
        const auto head = halyard::read_header(schedule.path, options);
        Assignments given;  // what the schedule leaves no choice of
        std::vector<Choice> open;
        for (const auto &t : head.params) {
            if (t.is_generator_param && t.choices.empty()) {
                given[t.name] = t.value;
            } else if (t.is_generator_param) {
                open.push_back({t.name, t.choices});
            }
        }
        for (const auto &choice : test.choices()) {
            const bool of_host =
                choice.name == "target" || choice.name == "schedule" || choice.name.rfind("set.", 0) == 0 || test.is_of_host(choice.name);
            if (!of_host && !head.generator.count(choice.name)) {
                open.push_back(choice);
            }
        }
        for (const auto &choice : schedule.name == op ? test.cuda_choices() : std::vector<Choice>()) {
            open.push_back(choice);
        }
        if (uses_tensor_cores(head)) {
            open.push_back({"devices", {"sm_80", "sm_90a"}});
        }
        if (has_param(head, "cluster")) {
            open.push_back({"set.cluster", {"1", "4"}});
        }
        if (has_param(head, "warps")) {
            open.push_back({"set.warps", {"4", "1", "2"}});
        }
        if (tests_pairs()) {
            with_large_tiles.clear();
        }
        for (auto build : assignments_of(open, number++)) {
            build.insert(given.begin(), given.end());
            if (!with_large_tiles.insert(build["devices"]).second) {
                const Assignments tiles = small_tiles(head);
                build.insert(tiles.begin(), tiles.end());
            } else if (chooses_tiles(head)) {
                build.erase("set.cluster");
                build.erase("set.warps");
            }
            if (schedule.name == op + ".skinny") {  // as much as each kind of device has shared memory for
                build["set.rows"] = build["devices"] == "sm_80" ? "16" : "32";
            }
            if (build["devices"].empty()) {
                build.erase("devices");
            }
            build["schedule"] = schedule.name;
            build["target"] = kCudaTarget;
            test.settle(build);
            if (std::find(builds.begin(), builds.end(), build) == builds.end()) {
                builds.push_back(build);
            }
        }
    }
    return builds;
}

}  // namespace ops_test
