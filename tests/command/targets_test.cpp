// Short names for targets.

#include <catch2/catch.hpp>

#include "kernel/failure.h"
#include "kernel/targets.h"
#include "kernel/text.h"

using namespace halyard;

TEST_CASE("The baseline comes last, and nothing twice", "[targets]") {
    const auto both = resolve_targets("avx2, avx512,avx2");
    REQUIRE(both.size() == 2);
    CHECK(target_features(both[0]).count("avx512_skylake") == 1);
    CHECK(target_features(both[1]).count("avx512_skylake") == 0);
    for (const auto &target : both) {
        CHECK(starts_with(target, "x86-64-linux-"));
        CHECK(ends_with(target, "-no_runtime"));
        CHECK(target_features(target).count("fma") == 1);
    }
}

TEST_CASE("What a Zen 5 can run of Intel's levels comes after its own", "[targets]") {
    // The first that a processor has all features of is called, and a Zen 5 has those of avx512_avxvnni.
    const auto targets = resolve_targets("avx512_zen4,avx512_avxvnni,avx512_zen5");
    REQUIRE(targets.size() == 3);
    CHECK(target_features(targets[0]).count("avx512_zen5") == 1);
    CHECK(target_features(targets[1]).count("avxvnni") == 1);
    CHECK(target_features(targets[2]).count("avxvnni") == 0);
}

TEST_CASE("Each level has the features of the one below", "[targets]") {
    std::set<std::string> below;
    for (const auto &level : level_names()) {
        const auto features = target_features(resolve_targets(level).front());
        INFO(level);
        if (level != "avx512_sapphirerapids") {  // beside zen5, not above it
            for (const auto &feature : below) {
                CHECK(features.count(feature) == 1);
            }
        }
        below = features;
    }
}

TEST_CASE("Features may be added to a level, and Halide's strings pass", "[targets]") {
    CHECK(target_features(resolve_targets("avx2-profile").front()).count("profile") == 1);
    CHECK(resolve_targets("x86-64-linux-avx2-no_runtime") == std::vector<std::string>{"x86-64-linux-avx2-no_runtime"});
    CHECK_THROWS_WITH(resolve_targets("avx521"), Catch::Contains("did you mean \"avx512\"?"));
    CHECK_THROWS_AS(resolve_targets(","), UsageError);
    for (const char *wrong : {"-1", "--help", "rows=-1", "avx2-a=b", "x86-64-\"linux", "a-b c", "x86-\x1b[31m"}) {
        CHECK_THROWS_AS(resolve_targets(wrong), UsageError);
    }
}

TEST_CASE("The level of a processor", "[targets]") {
    CHECK(best_level({}) == "");
    CHECK(best_level({"sse4_1", "avx"}) == "sse41");
    CHECK(best_level({"sse4_1", "avx", "avx2", "fma"}) == "sse41");  // no f16c
    CHECK(best_level({"sse4_1", "avx", "avx2", "fma", "f16c"}) == "avx2");
    CHECK(best_level({"sse4_1", "avx", "avx2", "fma", "f16c", "avx512f", "avx512cd", "avx512vl", "avx512bw", "avx512dq"}) == "avx512");
    std::set<std::string> zen4 = {"sse4_1",           "avx",        "avx2",         "fma",         "f16c",
                                  "avx512f",          "avx512cd",   "avx512vl",     "avx512bw",    "avx512dq",
                                  "avx512ifma",       "avx512vbmi", "avx512_vbmi2", "avx512_vnni", "avx512_bitalg",
                                  "avx512_vpopcntdq", "avx512_bf16"};
    CHECK(best_level(zen4) == "avx512_zen4");
    std::set<std::string> zen5 = zen4;
    zen5.insert({"avx_vnni", "avx512_vp2intersect"});
    CHECK(best_level(zen5) == "avx512_zen5");
    std::set<std::string> intel = zen4;
    intel.insert({"avx_vnni", "avx512_fp16"});
    CHECK(best_level(intel) == "avx512_avxvnni");
    intel.insert({"amx_tile", "amx_int8", "amx_bf16"});
    CHECK(best_level(intel) == "avx512_sapphirerapids");
}

TEST_CASE("what a processor lacks of the least of some targets", "[targets]") {
    using Features = std::vector<std::string>;
    CHECK(features_missing("avx512,avx2", "avx2").empty());
    CHECK(features_missing("avx512,avx2", "sse41") == Features{"avx", "f16c", "fma", "avx2"});
    CHECK(features_missing("avx512", "avx2") == Features{"avx512", "avx512_skylake"});
    CHECK(features_missing("avx512-no_asserts", "avx512_zen4").empty());
    CHECK(features_missing("avx512_zen5", "avx512_sapphirerapids") == Features{"avx512_zen5"});
    CHECK(features_missing("x86-64-linux-avx2", "avx512").empty());
    CHECK(features_missing("cuda", "sse41").empty());
}
