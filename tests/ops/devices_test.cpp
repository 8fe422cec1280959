// One library for devices whose tensor cores differ: each call picks the kernel of its device. The entries of ctest run this
// on emulated devices of several kinds; those before 9.0 refuse what the copy engine needs.

#include <catch2/catch.hpp>

#include "harness.h"
#include "registry.h"

using namespace ops_test;

TEST_CASE("kernels for every device in one library") {
    const auto kernel = build("gemm", {{"target", kCudaTarget},
                                       {"schedule", "nk"},
                                       {"type", "float16"},
                                       {"set.rows", "64"},
                                       {"set.columns", "64"}});
    const Case aligned = {"aligned", {{"m", 70}, {"n", 136}, {"k", 200}}},
               odd = {"odd", {{"m", 65}, {"n", 33}, {"k", 71}}};
    for (const auto &c : {aligned, odd}) {
        CHECK(check_case(gemm_test(), halyard::find_op("gemm"), kernel, c, Placement(0), 1) == "");
    }
}
