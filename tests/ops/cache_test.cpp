// Attention over keys and values that are stored otherwise than queries are: of another type, or of 8 bits with a scale each.

#include <catch2/catch.hpp>

#include <utility>
#include <vector>

#include "cache.h"
#include "harness.h"
#include "kernel/registry.h"
#include "kernel/workload.h"

using namespace ops_test;

namespace {

// With what cases ask for, if it is not given.
void check(const OpTest &test, const std::string &op, const std::vector<Assignments> &builds) {
    int rotation = 0;
    for (Assignments choices : builds) {
        const Assignments usual = {{"schedule", ""},    {"target", "avx2"},     {"padded", "true"},          {"causal", "false"},
                                   {"masked", "false"}, {"mask_type", "added"}, {"diagonal", "bottom_right"}};
        choices.insert(usual.begin(), usual.end());
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

TEST_CASE("attention: stored otherwise") {
    check(attention_test(), "attention",
          {{{"type", "float32"}, {"cache_type", "int8"}, {"causal", "true"}, {"set.head_dim", "32"}},
           {{"type", "float32"}, {"cache_type", "float8_e4m3"}, {"schedule", "online"}, {"padded", "false"}},
           {{"type", "float16"}, {"cache_type", "bfloat16"}, {"schedule", "unfused"}},
           {{"type", "bfloat16"}, {"cache_type", "float8_e5m2"}, {"target", "host"}, {"masked", "true"}}});
    CHECK_THROWS_WITH(
        build("attention",
              {{"schedule", "mma"}, {"type", "bfloat16"}, {"cache_type", "int8"}, {"set.tiles", "always"}, {"set.head_dim", "64"}}),
        Catch::Contains("attention.lua") && Catch::Contains("cache_type: tiles multiply"));
}

TEST_CASE("attention: stored otherwise on CUDA") {
    check(attention_test(), "attention",
          {{{"target", kCudaTarget},
            {"schedule", "unfused"},
            {"type", "bfloat16"},
            {"cache_type", "int8"},
            {"query_block", "64"},
            {"key_block", "64"}}});
    CHECK_THROWS_WITH(build("attention", {{"target", kCudaTarget}, {"type", "bfloat16"}, {"cache_type", "float8_e4m3"}}),
                      Catch::Contains("gpu_attention.lua") && Catch::Contains("cache_type: tensor cores fetch"));
}

TEST_CASE("decode_attention: in pages") {
    check(decode_attention_test(), "decode_attention",
          {{{"type", "bfloat16"}, {"page", "16"}, {"causal", "true"}},
           {{"type", "float32"}, {"page", "32"}, {"cache_type", "int8"}, {"set.head_dim", "64"}, {"store_lse", "true"}},
           {{"type", "float32"}, {"page", "20"}, {"schedule", "fused"}, {"cache_type", "float8_e4m3"}, {"alibi", "true"}}});
    CHECK_THROWS_WITH(build("decode_attention", {{"page", "16"}, {"padded", "false"}}),
                      Catch::Contains("page is for sequences with lengths, which padded=true adds"));
}

TEST_CASE("decode_attention: in pages on CUDA") {
    check(decode_attention_test(), "decode_attention",
          {{{"target", kCudaTarget}, {"type", "bfloat16"}, {"page", "16"}, {"causal", "true"}},
           {{"target", kCudaTarget}, {"type", "float16"}, {"page", "64"}, {"cache_type", "int8"}, {"set.head_dim", "64"}}});
    CHECK_THROWS_WITH(build("decode_attention", {{"target", kCudaTarget}, {"schedule", "mma"}, {"page", "16"}}),
                      Catch::Contains("decode_attention.mma.lua") && Catch::Contains("page: blocks of keys are fetched"));
}

TEST_CASE("attention: in pages") {
    check(attention_test(), "attention",
          {{{"type", "float32"}, {"page", "16"}, {"causal", "true"}, {"diagonal", "lengths"}},
           {{"type", "bfloat16"}, {"page", "16"}, {"target", "host"}, {"cache_type", "int8"}, {"schedule", "online"}}});
    CHECK_THROWS_WITH(build("attention", {{"page", "16"}, {"padded", "true"}, {"causal", "true"}}),
                      Catch::Contains("with page, queries are placed by diagonal=lengths or top_left"));
}

TEST_CASE("attention: in pages on CUDA") {
    check(attention_test(), "attention",
          {{{"target", kCudaTarget},
            {"schedule", "unfused"},
            {"type", "bfloat16"},
            {"page", "16"},
            {"query_block", "64"},
            {"key_block", "64"}}});
    CHECK_THROWS_WITH(build("attention", {{"target", kCudaTarget}, {"padded", "true"}, {"page", "16"}}),
                      Catch::Contains("gpu_attention.lua") && Catch::Contains("page: blocks of keys are fetched"));
}

// One number for all keys and heads is one in memory.
TEST_CASE("decode_attention: scales of strides 0") {
    const auto kernel = build("decode_attention", {{"target", "avx2"}, {"cache_type", "int8"}, {"padded", "false"}});
    const Dims dims = {{"d", 20}, {"queries", 1}, {"keys", 77}, {"heads", 4}, {"key_heads", 2}, {"batch", 2}};
    auto arguments = make_arguments(halyard::find_op("decode_attention"), kernel, dims, 1);
    const auto results = [&] {
        arguments.buffer("out").poison();
        const halyard::CallResult r = kernel.call(arguments);
        REQUIRE(r.message == "");
        return arguments.buffer("out").values();
    };
    for (const char *name : {"k_scale", "v_scale"}) {
        arguments.buffer(name).fill(0.01);
    }
    const std::vector<double> expected = results();
    for (const char *name : {"k_scale", "v_scale"}) {
        HostBuffer &scale = arguments.buffer(name);
        scale.fill(kNaN);
        scale.set({0, 0, 0}, 0.01);
        for (int d = 0; d < 3; d++) {
            scale.raw()->dim[d].stride = 0;
        }
    }
    CHECK(results() == expected);
}

// As many as 32 bits count, of which there were none.
TEST_CASE("decode_attention: a table of too many pages") {
    const auto kernel = build("decode_attention", {{"target", "avx2"}, {"schedule", "fused"}, {"page", "4096"}});
    const Dims dims = {{"d", 8}, {"queries", 1}, {"keys", 5}, {"heads", 1}, {"key_heads", 1}, {"batch", 1}};
    auto arguments = make_arguments(halyard::find_op("decode_attention"), kernel, dims, 1);
    std::vector<int32_t> table(1 << 19);
    halide_buffer_t *const raw = arguments.buffer("page_table").raw();
    uint8_t *const before = std::exchange(raw->host, reinterpret_cast<uint8_t *>(table.data()));
    raw->dim[0].extent = int(table.size());
    arguments.buffer("out").poison();
    CHECK_THAT(kernel.call(arguments).message, Catch::Contains("page_table has 524288 pages for a sequence, but may have 523263"));
    raw->host = before;
    CHECK(arguments.buffer("out").poisoned());
}
