// Extents at the edge, with every schedule. An extent of 0: the right result (sums over nothing). An input that is one
// smaller than the others say: an error. Never a crash, never a write.

#include <algorithm>

#include <catch2/catch.hpp>

#include "harness.h"
#include "stands_alone.h"
#include "kernel/schedules.h"
#include "kernel/targets.h"
#include "kernel/workload.h"

namespace {

using namespace ops_test;
using namespace halyard;

void check_no_elements(const OpTest &test, const std::string &name) {
    for (const auto &schedule : schedules_of(name)) {
        if (schedule.place == "cpu") {
            Assignments choices;  // as the generator has them by itself
            for (const Choice &c : test.choices()) {
                choices[c.name] = c.values.front();
            }
            choices["schedule"] = schedule.name;
            CAPTURE(schedule.name);
            CHECK(check_empty(test, find_op(name), build(name, {{"schedule", schedule.name}}), choices) == "");
        }
    }
}

// Of all schedules of a place, or one of them.
void check_too_small(const OpTest &test, const std::string &name, const std::string &place, const std::string &only = "") {
    const Op &op = find_op(name);
    for (const auto &schedule : schedules_of(name)) {
        if (schedule.place != place || (!only.empty() && schedule.name != only)) {
            continue;
        }
        Dims dims = test.fixed_dims(schedule.name);
        for (const auto &dim : op.dims) {
            dims.insert({dim, 5});  // one less is another number of groups of 2 or 4, too
        }
        const CompiledKernel kernel = build(name, {{"schedule", schedule.name}, {"target", place == "cpu" ? "host" : kCudaTarget}});
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
                CAPTURE(schedule.name, a.name, d, result.message);
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
    check_too_small(rope_test(), "rope", "cuda", "rope");
    check_too_small(gemm_test(), "gemm", "cuda", "gemm.simt");
    check_too_small(linear_cross_entropy_test(), "linear_cross_entropy", "cuda", "linear_cross_entropy.simt");
    check_too_small(moe_router_test(), "moe_router", "cuda", "moe_router.given");
}

#define HALYARD_OP(name, ...)                                                                                                              \
    TEST_CASE(#name ": empty") {                                                                                                           \
        check_no_elements(name##_test(), #name);                                                                                           \
    }                                                                                                                                      \
    TEST_CASE(#name ": too small") {                                                                                                       \
        check_too_small(name##_test(), #name, "cpu");                                                                                      \
    }                                                                                                                                      \
    TEST_CASE(#name ": too small on CUDA", "[.]") {                                                                                        \
        check_too_small(name##_test(), #name, "cuda");                                                                                     \
    }
#include "ops.inc"
#undef HALYARD_OP
