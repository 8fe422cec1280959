// Every schedule that ships, with random values for what it tunes, against the reference: a
// schedule decides how something is computed, never what; and on the host a row's result is the same bits whatever else is there.

#include <cstdlib>
#include <iostream>
#include <random>
#include <regex>

#include <catch2/catch.hpp>

#include "harness.h"
#include "same_bits.h"
#include "setting.h"
#include "kernel/generate.h"
#include "kernel/paths.h"
#include "kernel/schedules.h"
#include "language/script.h"
#include "kernel/targets.h"

namespace {

using namespace ops_test;
using namespace halyard;

ScriptOptions options_for(const std::string &target, const Assignments &set) {
    ScriptOptions options;
    options.set = set;
    options.lib_dirs = {paths().schedules};
    options.target = resolve_targets(target).front();
    return options;
}

// A value for every tune{} that `where` accepts.
Assignments draw(const std::string &script, const std::string &target, std::mt19937 &random) {
    const ScriptHeader head = read_header(script, options_for(target, {}));
    for (int attempt = 0; attempt < 100; attempt++) {
        Assignments set;
        for (const auto &tunable : head.params) {
            if (!tunable.choices.empty()) {
                set[tunable.name] = tunable.choices[random() % tunable.choices.size()];
            }
        }
        try {
            read_header(script, options_for(target, set));
            return set;
        } catch (const ScriptError &) {
            continue;  // `where` rejects them
        }
    }
    FAIL(script << ": `where` rejects everything");
    return {};
}

// Of some draws the one with most values that no other of the schedule has yet, nor the schedule as it ships, of which other tests
// make libraries.
Assignments draw_apart(std::vector<Assignments> seen, const std::string &script, const std::string &target, std::mt19937 &random) {
    constexpr int kDraws = 20;
    Assignments shipped;
    for (const auto &tunable : read_header(script, options_for(target, {})).params) {
        shipped[tunable.name] = tunable.value;
    }
    seen.push_back(shipped);
    Assignments best;
    long most = -1;
    for (int n = 0; n < kDraws; n++) {
        const Assignments set = draw(script, target, random);
        const long values = std::count_if(set.begin(), set.end(), [&](const auto &value) {
            return std::none_of(seen.begin(), seen.end(),
                                [&](const Assignments &s) { return s.count(value.first) > 0 && s.at(value.first) == value.second; });
        });
        if (values > most) {
            best = set;
            most = values;
        }
    }
    return best;
}

// Whether an error of a build says, at a line of the schedule, that a block has no room for what was drawn, or that what was drawn does not go
// together or with the parameters of the generator.
bool is_refused(const std::string &error) {
    static const std::regex refusal("\\.lua:[0-9]+: error: .*(bytes of shared memory, and a block has|take a multiple of|have a block each|"
                                    "promises what no call can keep|attention.*\\.lua (has|converts)|store_lse=true is for)");
    return std::regex_search(error, refusal);
}

// What does not fit a device, or is of other sizes, is said and not wrong: `where` knows neither the device nor what is computed.
std::string check_on_device(const OpTest &test, const std::string &op, const Assignments &choices, int rotation) {
    std::string refused;
    try {
        const std::string wrong = check_taken(test, op, choices, rotation, &refused);
        if (!refused.empty()) {
            std::cerr << "refused " << op << " " << assignments_text(choices) << refused << "\n";
        }
        return wrong;
    } catch (const std::exception &e) {  // of the head, or of a process that read the schedule
        if (!is_refused(e.what())) {
            throw;
        }
        std::cerr << "unbuilt " << op << " " << assignments_text(choices) << "\n  " << e.what() << "\n";
        return "";
    }
}

// Of each schedule one, for this host's level and for AVX2 in turn; seconds each to compile and check. HALYARD_DRAWS=50 is for a night,
// HALYARD_DRAWS_SEED=8 draws others, and HALYARD_DRAWS_PLACE=cuda those for CUDA, on the device of HALYARD_CUDA_DRIVER.
void check_random(const OpTest &test, const std::string &op) {
    std::mt19937 random(setting("HALYARD_DRAWS_SEED", 7));
    const int most = setting("HALYARD_DRAWS", 1);
    const char *place = std::getenv("HALYARD_DRAWS_PLACE");
    const bool on_cuda = place && std::string(place) == kCudaTarget;
    size_t turn = op.size();  // ops with one schedule are not all of one level
    for (const auto &schedule : schedules_of(op)) {
        if (schedule.place != (on_cuda ? kCudaTarget : "cpu")) {
            continue;
        }
        std::vector<Assignments> seen;
        turn++;
        for (int n = 0; n < most; n++) {
            const std::string target = on_cuda ? kCudaTarget : (turn + size_t(n)) % 2 == 0 ? "host" : "avx2";
            if (!why_skipped(target).empty()) {
                WARN("skipped: " << why_skipped(target));
                return;
            }
            const Assignments set = draw_apart(seen, schedule.path, target, random);
            if (std::find(seen.begin(), seen.end(), set) != seen.end()) {
                continue;
            }
            seen.push_back(set);
            const Assignments fixed = read_header(schedule.path, options_for(target, set)).generator;
            Assignments choices = {{"schedule", schedule.name}, {"target", target}};
            if (on_cuda) {
                choices["devices"] = random() % 2 == 0 ? "sm_80" : "sm_90a";
            }
            for (const auto &choice : test.choices()) {  // of the generator
                const bool of_schedule = choice.name.find('.') != std::string::npos || fixed.count(choice.name) > 0;
                if (!of_schedule && choices.count(choice.name) == 0) {
                    choices[choice.name] = choice.values[random() % choice.values.size()];
                }
            }
            Assignments settled = choices;
            settled.insert(fixed.begin(), fixed.end());  // what goes together depends on what the schedule says
            test.settle(settled);
            for (const auto &f : fixed) {
                settled.erase(f.first);
            }
            choices = settled;
            for (const auto &s : set) {
                choices["set." + s.first] = s.second;
            }
            INFO(assignments_text(choices));
            if (on_cuda) {
                CHECK(check_on_device(test, op, choices, n) == "");
                continue;
            }
            CHECK(check_build(test, op, choices, n) == "");
            if (test.has_batches(choices)) {
                CHECK(check_same_bits(test, op, choices, kRowsOnHost, Sizes::kSome) == "");
            }
        }
    }
}

}  // namespace

#define HALYARD_OP(name, ...)                                                                                                              \
    TEST_CASE(#name ": random schedules") {                                                                                                \
        check_random(name##_test(), #name);                                                                                                \
    }
#include "ops.inc"
#undef HALYARD_OP
