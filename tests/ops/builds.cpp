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

const Wanted kEveryValue = [](const std::string &, const std::string &) { return true; };

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

// Where an op stands in the list of all.
size_t number_of(const OpTest &test) {
    const std::vector<const OpTest *> all = {
#define HALYARD_OP(name, ...) &name##_test(),
#include "ops.inc"
#undef HALYARD_OP
    };
    return size_t(std::find(all.begin(), all.end(), &test) - all.begin());
}

// What ops compute by the same code of generators/math and schedules/lib, each value of which is tested with this op at every level.
bool has_every_value(const OpTest &test, const std::string &choice) {
    return (choice == "activation" && &test == &bias_activation_test()) || (choice == "output" && &test == &rms_norm_test()) ||
           (choice == "format" && &test == &gemm_q_test());
}

// What builds of one target are asked for: of each choice all values, but of what many ops have by the same code some four, others from op
// to op. Of four to eleven values AVX2 and this host's level have all between them.
Wanted wanted_of(const OpTest &test, const std::vector<Choice> &choices, const std::string &target) {
    const std::set<std::string> shared = {"activation", "cache_type", "format", "order", "output"};
    constexpr size_t kMany = 4;
    const size_t number = number_of(test) + (target == kThisHost ? 1 : 0);
    std::set<std::pair<std::string, std::string>> left_out;
    for (const Choice &c : choices) {
        if (c.values.size() < kMany || shared.count(c.name) == 0 || has_every_value(test, c.name)) {
            continue;
        }
        const size_t step = std::max<size_t>(2, c.values.size() / kMany);
        for (size_t v = 0; v < c.values.size(); v++) {
            if ((v + number) % step != 0) {
                left_out.insert({c.name, c.values[v]});
            }
        }
    }
    return [=](const std::string &choice, const std::string &value) { return left_out.count({choice, value}) == 0; };
}

// What is open of a schedule for CUDA, of an op of which others have these builds: all of it for the first one, and of the others what
// those before have least of.
std::vector<Assignments> assignments_of(const OpTest &test, const std::vector<Choice> &open, const std::vector<Assignments> &before) {
    const std::vector<Assignments> pairs = all_pairs(open);
    if (tests_pairs() && before.empty()) {
        return pairs;
    }
    const std::vector<Assignments> all = with_every_value(pairs, tests_pairs() ? kEveryValue : wanted_of(test, open, kCudaTarget));
    if (before.empty() || tests_pairs()) {
        return all;
    }
    const auto device = [](const Assignments &a) { return a.count("devices") > 0 ? a.at("devices") : ""; };
    std::vector<Assignments> seen = before, few;
    const auto news = [&](const Assignments &a) {
        return std::count_if(a.begin(), a.end(), [&](const auto &value) {
            return std::none_of(seen.begin(), seen.end(), [&](const Assignments &s) {
                const auto found = s.find(value.first);
                return found != s.end() && found->second == value.second;
            });
        });
    };
    for (const std::string &of : std::set<std::string>{"", "sm_80", "sm_90a"}) {
        std::vector<Assignments> candidates;
        std::copy_if(pairs.begin(), pairs.end(), std::back_inserter(candidates), [&](const Assignments &a) { return device(a) == of; });
        if (!candidates.empty()) {
            few.push_back(
                *std::max_element(candidates.begin(), candidates.end(), [&](const auto &a, const auto &b) { return news(a) < news(b); }));
            seen.push_back(few.back());
        }
    }
    // What other ops leave to this one: each value that no schedule before has.
    const auto is_left = [&](const std::string &choice, const std::string &value) {
        return has_every_value(test, choice) && std::none_of(before.begin(), before.end(), [&](const Assignments &b) {
                   const auto found = b.find(choice);
                   return found != b.end() && found->second == value;
               });
    };
    return with_every_value(pairs, is_left, few);
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

// How weights in blocks lie. All ops unpack them by the same code, for which every format is tested with gemm_q at every level, and at
// this host's with other ops.
bool is_of_blocks(const std::string &choice) {
    return choice == "format" || choice == "group_size" || choice == "interleaved" || choice == "zero_points";
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
    const Wanted wanted = wanted_of(test, test.choices(), target);
    if (target == kThisHost) {
        return with_every_value(builds, wanted, builds_of_same_bits(test));
    }
    return with_every_value(builds, [&](const std::string &choice, const std::string &value) {
        return wanted(choice, value) && !(is_of_blocks(choice) && test.is_of_host(choice));
    });
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
    // Large tiles in the first build for a device; small ones take the compiler and the emulator a fraction of the time.
    std::set<std::string> with_large_tiles;
    bool all_threads = true;
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
        for (auto build : assignments_of(test, open, builds)) {
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
            // All numbers of threads are versions of one library: once is enough.
            if (const auto threads = build.find("set.threads"); threads != build.end() && threads->second == "0") {
                threads->second = all_threads || tests_pairs() ? "0" : "64";
                all_threads = false;
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
