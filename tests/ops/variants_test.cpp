// Every op, in builds that hold each value of its choices, or each pair of them (builds.h), against its float64 reference: odd sizes,
// special values, buffers placed in every way, equal results from one and two threads. Nor has a build a line about what is slow in it.

#include <algorithm>

#include <catch2/catch.hpp>

#include "builds.h"
#include "harness.h"

namespace {

using namespace ops_test;

// What docs/reference/accuracy.md is of: the same code on every processor that runs it.
const std::string kAccuracyTarget = "avx2";

// Whether a build has results of that type which docs/reference/accuracy.md counts.
bool shows(const Assignments &build, const std::string &type) {
    const auto is = [&](const char *name, const std::string &value) {
        const auto b = build.find(name);
        return b != build.end() && b->second == value;
    };
    return is("type", type) && (build.count("output") == 0 || is("output", "same") || is("output", type)) && !is("activation", "log_relu");
}

// For each type that has no results of its own in any of the builds, one that has: of those that the page is of, or the first of every
// other choice.
void add_missing_types(const OpTest &test, std::vector<Assignments> &builds) {
    Assignments first;
    std::vector<std::string> types;
    for (const auto &choice : test.choices()) {
        first[choice.name] = choice.values.front();
        types = choice.name == "type" ? choice.values : types;
    }
    first["target"] = kAccuracyTarget;
    const std::vector<Assignments> pairs = builds_of_pairs(test, kAccuracyTarget);
    for (const auto &type : types) {
        const auto shows_it = [&](const Assignments &b) { return shows(b, type); };
        if (std::any_of(builds.begin(), builds.end(), shows_it)) {
            continue;
        }
        const auto known = std::find_if(pairs.begin(), pairs.end(), shows_it);
        if (known != pairs.end()) {
            builds.push_back(*known);
        } else {
            builds.push_back(first);
            builds.back()["type"] = type;
            if (first.count("output")) {
                builds.back()["output"] = "same";
            }
            test.settle(builds.back());
        }
    }
}

void check_target(const OpTest &test, const std::string &op, const std::string &target) {
    if (const std::string why = why_skipped(target); !why.empty()) {
        WARN("skipped: " << why);
        return;
    }
    auto builds = builds_for(test, target);
    REQUIRE(!builds.empty());
    if (target == kAccuracyTarget) {
        add_missing_types(test, builds);
    }
    // A build has the same data whichever others are tested with it: what the page says of all holds for some.
    const std::vector<Assignments> pairs = builds_of_pairs(test, target);
    Accuracies seen;
    for (const auto &choices : builds) {
        const auto rotation = std::find(pairs.begin(), pairs.end(), choices) - pairs.begin();
        CHECK(build(op, choices).slow() == "");
        CHECK(check_build(test, op, choices, int(rotation), &seen) == "");
    }
    if (target == kAccuracyTarget) {
        CHECK(check_accuracy(test, op, seen) == "");
    }
}

// A library with code for several levels of instructions, which has the same code for each as the libraries of one: the first of
// every choice.
void check_levels(const OpTest &test, const std::string &op) {
    const std::string target = "avx512,avx2";
    if (const std::string why = why_skipped(target); !why.empty()) {
        WARN("skipped: " << why);
        return;
    }
    Assignments build;
    for (const auto &choice : test.choices()) {
        build[choice.name] = choice.values.front();
    }
    build["target"] = target;
    test.settle(build);
    CHECK(check_build(test, op, build, 0) == "");
}

void check_cuda(const OpTest &test, const std::string &op) {
    int rotation = 0;
    for (const auto &choices : cuda_builds(test, op)) {
        CHECK(build(op, choices).slow() == "");
        CHECK(check_build(test, op, choices, rotation++) == "");
    }
}

}  // namespace

#define HALYARD_OP(name, ...)                                                                                                              \
    TEST_CASE(#name ": several levels in one library") {                                                                                   \
        check_levels(name##_test(), #name);                                                                                                \
    }                                                                                                                                      \
    TEST_CASE(#name ": avx2") {                                                                                                            \
        check_target(name##_test(), #name, "avx2");                                                                                        \
    }                                                                                                                                      \
    TEST_CASE(#name ": host") {                                                                                                            \
        check_target(name##_test(), #name, "host");                                                                                        \
    }                                                                                                                                      \
    TEST_CASE(#name ": cuda") {                                                                                                            \
        check_cuda(name##_test(), #name);                                                                                                  \
    }
#include "ops.inc"
#undef HALYARD_OP
