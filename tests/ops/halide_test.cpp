// What Halide's autoscheduler for GPUs makes of ops, in words, is right on the emulated device.

#include <catch2/catch.hpp>

#include "explore/space/halide.h"
#include "harness.h"
#include "kernel/process.h"
#include "kernel/text.h"

namespace {

using namespace ops_test;
using namespace halyard;

// "" or what is wrong with op at this size; a refusal begins with "refused: ".
std::string check_anderson(const OpTest &test, const std::string &name, const Dims &dims) {
    explore::Task task;
    task.op = name;
    task.shape = dims;
    task.target = kCudaTarget;
    const explore::HalideSchedule s = explore::halide_schedule(task, "Anderson2021");
    if (!s.problem.empty()) {
        return "refused: " + s.problem;
    }
    const TemporaryDirectory work(temporary_root());
    const std::string script = work.path() + "/" + name + ".lua";
    write_file(script, s.candidate.lua);
    const CompiledKernel kernel = build(name, {{"schedule", script}, {"target", kCudaTarget}});
    Case c;
    c.what = "Anderson2021";
    c.dims = dims;
    const std::string wrong = check_case(test, find_op(name), kernel, c, Placement::kDense, 1);
    return wrong.empty() ? "" : wrong + "\n" + s.candidate.lua;
}

}  // namespace

TEST_CASE("what Anderson2021 makes is right on the emulated device", "[anderson2021]") {
    CHECK(check_anderson(rms_norm_test(), "rms_norm", {{"rows", 64}, {"cols", 256}}) == "");
    CHECK(check_anderson(softmax_test(), "softmax", {{"rows", 64}, {"cols", 256}}) == "");
    CHECK(check_anderson(bias_activation_test(), "bias_activation", {{"rows", 64}, {"cols", 256}}) == "");
    CHECK(check_anderson(gemm_test(), "gemm", {{"m", 64}, {"n", 64}, {"k", 64}}) == "");
}
