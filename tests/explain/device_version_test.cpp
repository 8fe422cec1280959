// halyard explain for CUDA: which version of a schedule a call of a size takes, and why.

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

TEST_CASE("Which version a call takes, and why", "[device]") {
    const Folder folder;
    const std::string page = folder / "page.html";
    const auto longer = explained("softmax", "rows=4096,cols=8192", {"--html", page}).at("version");
    const auto odd = explained("softmax", "rows=4096,cols=1001").at("version");
    INFO(longer.dump(1) << odd.dump(1));
    CHECK(longer.at("number") != odd.at("number"));
    const std::string why = longer.at("why").at(0);
    CHECK(contains(why,
                   "Version " + std::to_string(longer.at("number").get<int>()) + " of " + std::to_string(longer.at("all").size()) + ": "));
    CHECK(contains(why, "held=shared"));
    CHECK(contains(why, "taken because k.x:dim(0):extent() <= 24576, here 8192 <= 24576."));
    CHECK(contains(longer.at("why").dump(),
                   "Versions 3 to 5 are not taken because this does not hold: k.y:dim(1):extent() <= 528, here 4096 <= 528."));
    CHECK(contains(longer.at("why").dump(), "is not taken because this does not hold: not (k.x:dim(0):extent() % 4 == 0 and "));
    CHECK(contains(longer.at("why").dump(), "is not taken because this does not hold: k.x:dim(0):extent() <= 7168, here 8192 <= 7168."));
    // The first whose condition holds, by the list itself.
    for (const auto &version : {longer, odd}) {
        const size_t taken = version.at("number").get<size_t>() - 1;
        for (size_t i = 0; i <= taken; i++) {
            CHECK(version.at("all")[i].value("holds", true) == (i == taken));
        }
    }
    CHECK(contains(read_file(page), "taken because k.x:dim(0):extent() &lt;= 24576, here 8192 &lt;= 24576."));
}

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
