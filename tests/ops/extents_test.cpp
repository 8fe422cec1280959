// Extents at the edge, with every schedule. An extent of 0: the right result (sums over nothing). An input that is one
// smaller than the others say: an error. Never a crash, never a write.

#include <algorithm>

#include <catch2/catch.hpp>

#include "builds.h"
#include "harness.h"
#include "stands_alone.h"
#include "kernel/generate.h"
#include "kernel/schedules.h"
#include "kernel/targets.h"
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

// Each CUDA schedule, or the one of that name, as the generator is by itself.
std::vector<Assignments> builds_on_device(const std::string &name, const std::string &only = "") {
    std::vector<Assignments> builds;
    for (const auto &schedule : schedules_of(name)) {
        if (schedule.place == "cuda" && (only.empty() || schedule.name == only)) {
            builds.push_back({{"schedule", schedule.name}, {"target", kCudaTarget}});
        }
    }
    return builds;
}

void check_too_small(const OpTest &test, const std::string &name, const std::vector<Assignments> &builds) {
    const Op &op = find_op(name);
    for (const Assignments &known : builds) {
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

// Rows that are read as the last one where there is none, and versions that require what others do not. Of all ops:
//   ops_test "*: too small on CUDA"
TEST_CASE("inputs that are too small on a device", "[small_on_device]") {
    check_too_small(rope_test(), "rope", builds_on_device("rope", "rope"));
    check_too_small(gemm_test(), "gemm", builds_on_device("gemm", "gemm.simt"));
    check_too_small(linear_cross_entropy_test(), "linear_cross_entropy",
                    builds_on_device("linear_cross_entropy", "linear_cross_entropy.simt"));
    check_too_small(moe_router_test(), "moe_router", builds_on_device("moe_router", "moe_router.given"));
}

#define HALYARD_OP(name, ...)                                                                                                              \
    TEST_CASE(#name ": empty") {                                                                                                           \
        check_no_elements(name##_test(), #name);                                                                                           \
    }                                                                                                                                      \
    TEST_CASE(#name ": too small") {                                                                                                       \
        check_too_small(name##_test(), #name, builds_of(name##_test(), #name));                                                            \
    }                                                                                                                                      \
    TEST_CASE(#name ": too small on CUDA", "[.]") {                                                                                        \
        check_too_small(name##_test(), #name, builds_on_device(#name));                                                                    \
    }
#include "ops.inc"
#undef HALYARD_OP
