// The schedules that ship have no line of `halyard check` and `halyard build` about what is slow, in builds that hold each pair of
// their choices. Nothing is compiled for it: the plugin looks at what Halide lowers, at the size that a benchmark takes first.

#include <algorithm>
#include <map>

#include <catch2/catch.hpp>

#include "builds.h"
#include "harness.h"
#include "kernel/generate.h"
#include "kernel/process.h"

namespace {

using namespace ops_test;
using namespace halyard;

std::string slow_in(const std::string &op, const Assignments &choices) {
    GenerateRequest request = request_of(op, choices);
    request.emit = {"c_header"};
    request.lint = true;
    Plan plan = make_plan(request);
    if (plan.targets.front().find("cuda") != std::string::npos) {
        // No code is made then.
        plan.sizes = plan.lint;
        plan.caches = "l1:32768,l2:1048576,l3:33554432";
    }
    const TemporaryDirectory work(temporary_root());
    const Generated made = generate(plan, work.path());
    std::string lines = made.error;
    if (made.ok && !made.report.contains("notes")) {
        return "nobody looked";
    }
    for (const auto &line : made.slow) {
        lines += line + "\n";
    }
    return lines;
}

// A few of those that have a schedule and a target in common, spread over all: what is slow is so in many of them.
std::vector<Assignments> some_of(const std::vector<Assignments> &builds) {
    constexpr size_t kOfEach = 2;
    std::map<std::pair<std::string, std::string>, std::vector<Assignments>> kinds;
    for (const auto &b : builds) {
        const auto value = [&](const char *name) { return b.count(name) ? b.at(name) : ""; };
        kinds[{value("schedule"), value("target")}].push_back(b);
    }
    std::vector<Assignments> some;
    for (const auto &kind : kinds) {
        const size_t step = std::max<size_t>(kind.second.size() / kOfEach, 1);
        for (size_t i = 0; i < kind.second.size(); i += step) {
            some.push_back(kind.second[i]);
        }
    }
    return some;
}

void check_silence(const OpTest &test, const std::string &op) {
    std::vector<Assignments> builds = cuda_builds(test, op);
    for (const char *target : {"avx2", "host"}) {
        const auto more = builds_for(test, target);
        builds.insert(builds.end(), more.begin(), more.end());
    }
    REQUIRE(!builds.empty());
    for (const auto &build : some_of(builds)) {
        INFO(assignments_text(build));
        CHECK(slow_in(op, build) == "");
    }
}

}  // namespace

#define HALYARD_OP(name, ...)                                                                                                              \
    TEST_CASE(#name ": lint") {                                                                                                            \
        check_silence(name##_test(), #name);                                                                                               \
    }
#include "ops.inc"
#undef HALYARD_OP
