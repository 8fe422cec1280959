// Every op, in builds that hold each pair of its choices, against its float64 reference: odd sizes,
// special values, buffers placed in every way, equal results from one and two threads.

#include <algorithm>

#include <catch2/catch.hpp>

#include "harness.h"
#include "pairs.h"

namespace {

using namespace ops_test;

// The builds of one target, each once.
std::vector<Assignments> builds_for(const OpTest &test, const std::string &target) {
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

void check_target(const OpTest &test, const std::string &op, const std::string &target) {
    if (const std::string why = why_skipped(target); !why.empty()) {
        WARN("skipped: " << why);
        return;
    }
    const auto builds = builds_for(test, target);
    REQUIRE(!builds.empty());
    int rotation = 0;
    for (const auto &choices : builds) {
        CHECK(check_build(test, op, choices, rotation++) == "");
    }
}

}  // namespace

#define HALYARD_OP(name, ...)                                \
    TEST_CASE(#name ": several levels in one library") {     \
        check_target(name##_test(), #name, "avx512,avx2");   \
    }                                                        \
    TEST_CASE(#name ": avx2") {                              \
        check_target(name##_test(), #name, "avx2");          \
    }                                                        \
    TEST_CASE(#name ": host") {                              \
        check_target(name##_test(), #name, "host");          \
    }
#include "ops.inc"
#undef HALYARD_OP
