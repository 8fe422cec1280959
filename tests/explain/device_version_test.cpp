// halyard explain for CUDA: which version of a schedule a call of a size takes, and why, by what each costs. By conditions: device_test.cpp.

#include <catch2/catch.hpp>

#include "kernel/json_text.h"
#include "tests/command/support.h"

namespace {

nlohmann::json explained(const std::string &op, const std::string &shape, const Arguments &more = {}) {
    Arguments all = {"explain", op, "--schedule", op, "--target", "cuda-sm_90a", "--shape", shape, "--predict", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    const ProcessResult r = run(all, {"HALYARD_CUDA_DRIVER=/there/is/none.so"});
    INFO(r.err);
    REQUIRE(r.exit_code == 0);
    return halyard::parse_json(r.out).at("schedules").at(0);
}

}  // namespace

TEST_CASE("The version that costs least, the last one, and none", "[device]") {
    const auto product = explained("gemm_fp8", "m=1024,n=1024,k=1024").at("version");
    INFO(product.dump(1));
    const auto taken = product.at("all").at(product.at("number").get<size_t>() - 1);
    CHECK(contains(product.at("why").at(0), "; taken because it costs least, " + std::to_string(taken.at("cost").get<int64_t>()) + "."));
    CHECK(contains(product.at("why").dump(), "is not taken because it costs more, "));
    CHECK(contains(taken.at("when"), "k.a:dim(1):extent()"));
    for (const auto &version : product.at("all")) {
        CHECK(version.value("cost", taken.at("cost").get<int64_t>()) >= taken.at("cost").get<int64_t>());
    }
    const auto large = explained("gemm_fp8", "m=16896,n=4096,k=4096").at("version");
    CHECK(large.at("number") == large.at("all").size());
    CHECK(contains(large.at("why").at(0), "taken because it costs least, "));
    const auto attention = explained("attention", "d=32,queries=256,keys=256,heads=12,key_heads=12,batch=1", {"--set", "head_dim=32"});
    CHECK(attention.at("version").is_null());
    CHECK(attention.at("kernels").size() == 1);
}
