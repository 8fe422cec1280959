// Extents at the edge, with every schedule. An extent of 0: the right result (sums over nothing). An input that is one
// smaller than the others say: an error. Never a crash, never a write.

#include <algorithm>

#include <catch2/catch.hpp>

#include "builds.h"
#include "harness.h"
#include "stands_alone.h"
#include "kernel/generate.h"
#include "kernel/schedules.h"
#include "kernel/workload.h"

namespace {

using namespace ops_test;
using namespace halyard;

// Each CPU schedule, in a build that is tested for more, or as the generator is by itself.
std::vector<Assignments> builds_of(const OpTest &test, const std::string &name) {
    const auto known = test.has_loose_extents() ? std::map<std::string, Assignments>() : builds_of_schedules(test);
    std::vector<Assignments> builds;
    for (const auto &schedule : schedules_of(name)) {
        if (schedule.place == "cpu") {
            const auto build = known.find(schedule.name == name ? "" : schedule.name.substr(name.size() + 1));
            builds.push_back(build == known.end() ? Assignments{{"schedule", schedule.name}} : build->second);
        }
    }
    return builds;
}

void check_no_elements(const OpTest &test, const std::string &name) {
    for (const Assignments &known : builds_of(test, name)) {
        Assignments choices = first_choices(test);
        for (const auto &[choice, value] : known) {
            choices[choice] = value;
        }
        INFO(assignments_text(known));
        CHECK(check_empty(test, find_op(name), build(name, known), choices) == "");
    }
}

void check_too_small(const OpTest &test, const std::string &name) {
    const Op &op = find_op(name);
    for (const Assignments &known : builds_of(test, name)) {
        Dims dims = test.fixed_dims(known.at("schedule"));
        for (const auto &dim : op.dims) {
            dims.insert({dim, 5});  // one less is another number of groups of 2 or 4, too
        }
        const CompiledKernel kernel = build(name, known);
        std::vector<std::string> buffers;
        for (const auto &a : kernel.arguments()) {
            if (a.is_buffer) {
                buffers.push_back(a.name);
            }
        }
        for (const auto &a : kernel.arguments()) {
            for (int d = 0; a.is_buffer && !a.is_output && d < a.dimensions; d++) {
                if (stands_alone(op, buffers, a.name, d)) {
                    continue;
                }
                KernelArguments arguments = make_arguments(op, kernel, dims, 1);
                arguments.buffer(a.name).raw()->dim[d].extent--;
                const CallResult result = kernel.call(arguments);
                CAPTURE(assignments_text(known), a.name, d, result.message);
                CHECK(!result.ok());
                CHECK(result.message.find(a.name) != std::string::npos);
                for (const auto &o : kernel.arguments()) {
                    if (o.is_output) {
                        const HostBuffer &output = arguments.buffer(o.name);
                        CHECK((output.poisoned() && output.surroundings_intact()));
                    }
                }
            }
        }
    }
}

}  // namespace

#define HALYARD_OP(name, ...)                                                                                                              \
    TEST_CASE(#name ": empty") {                                                                                                           \
        check_no_elements(name##_test(), #name);                                                                                           \
    }                                                                                                                                      \
    TEST_CASE(#name ": too small") {                                                                                                       \
        check_too_small(name##_test(), #name);                                                                                             \
    }
#include "ops.inc"
#undef HALYARD_OP
