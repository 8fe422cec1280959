// Attention over keys and values that are stored otherwise than queries are: of another type, or of 8 bits with a scale each.

#include <catch2/catch.hpp>

#include "harness.h"

using namespace ops_test;

namespace {

void check(const OpTest &test, const std::string &op, const std::vector<Assignments> &builds) {
    int rotation = 0;
    for (Assignments choices : builds) {
        choices.insert({"target", "avx2"});
        for (const char *off : {"causal", "diagonal", "masked", "mask_type", "schedule"}) {
            choices.insert({off, off == std::string("diagonal") ? "bottom_right" : off == std::string("mask_type") ? "added" : "false"});
        }
        if (choices["schedule"] == "false") {
            choices["schedule"] = "";
        }
        choices.insert({"padded", "true"});
        CHECK(build(op, choices).slow() == "");
        CHECK(check_build(test, op, choices, rotation++) == "");
    }
}

}  // namespace

TEST_CASE("decode_attention: stored otherwise") {
    check(decode_attention_test(), "decode_attention",
          {{{"type", "float32"}, {"cache_type", "float8_e4m3"}, {"causal", "true"}, {"capped", "true"}},
           {{"type", "float32"}, {"cache_type", "float8_e5m2"}, {"schedule", "fused"}, {"padded", "false"}},
           {{"type", "bfloat16"}, {"cache_type", "int8"}, {"set.head_dim", "64"}, {"store_lse", "true"}},
           {{"type", "float16"}, {"cache_type", "int8"}, {"schedule", "unfused"}, {"add_bias", "true"}},
           {{"type", "float32"}, {"cache_type", "bfloat16"}, {"target", "host"}},
           {{"type", "bfloat16"}, {"cache_type", "float16"}, {"padded", "false"}}});
}

TEST_CASE("decode_attention: stored otherwise on CUDA") {
    check(decode_attention_test(), "decode_attention",
          {{{"target", kCudaTarget}, {"type", "bfloat16"}, {"cache_type", "float8_e4m3"}, {"causal", "true"}},
           {{"target", kCudaTarget}, {"type", "float16"}, {"cache_type", "int8"}, {"set.head_dim", "64"}, {"padded", "false"}},
           {{"target", kCudaTarget}, {"type", "float32"}, {"cache_type", "bfloat16"}, {"set.head_dim", "64"}, {"add_sink", "true"}}});
    CHECK_THROWS_WITH(build("decode_attention", {{"target", kCudaTarget}, {"schedule", "mma"}, {"cache_type", "int8"}}),
                      Catch::Contains("decode_attention.mma.lua") && Catch::Contains("cache_type: tensor cores fetch"));
}
