// Schedules for CUDA with values of what they tune that are not those they ship with.

#include <catch2/catch.hpp>

#include "builds.h"
#include "harness.h"

namespace {

using namespace ops_test;

Assignments with(Assignments all, const Assignments &more) {
    for (const auto &[name, value] : more) {
        all[name] = value;
    }
    return all;
}

}  // namespace

// Of fewer rows than a block has, the last block would begin before the first one.
TEST_CASE("fewer rows than a block has on a device", "[tuned_on_device]") {
    const Assignments several = {
        {"target", kCudaTarget}, {"type", "float32"}, {"output", "same"}, {"set.threads", "8"}, {"set.block_rows", "4"}};
    CHECK(check_build(rms_norm_test(), "rms_norm", with(several, {{"add_residual", "true"}, {"scaling", "tensor"}}), 0) == "");
    const Assignments of_schedule = with(several, {{"schedule", "softmax"}});
    CHECK(check_build(softmax_test(), "softmax", with(first_choices(softmax_test()), of_schedule), 1) == "");
}

TEST_CASE("rows with scales of their own have a block each", "[tuned_on_device]") {
    for (const char *scaling : {"row", "block"}) {
        const Assignments several = {
            {"target", kCudaTarget}, {"output", "int8"}, {"scaling", scaling}, {"set.threads", "8"}, {"set.block_rows", "4"}};
        CHECK_THROWS_WITH(build("rms_norm", several), Catch::Contains("rows with scales of their own have a block each"));
    }
}
