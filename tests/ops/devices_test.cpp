// One library for devices whose tensor cores differ: each call picks the kernel of its device. The entries of ctest run this
// on emulated devices of several kinds; those before 9.0 refuse what TMA needs.

#include <catch2/catch.hpp>

#include "harness.h"
#include "kernel/registry.h"
#include "kernel/workload.h"

using namespace ops_test;

static void check_sizes(const OpTest &test, const std::string &op, const halyard::CompiledKernel &kernel,
                        const std::map<std::string, Dims> &sizes) {
    for (const auto &[what, dims] : sizes) {
        const Case c = {what, dims};
        CHECK(check_case(test, halyard::find_op(op), kernel, c, Placement(0), 1) == "");
    }
}

// With small tiles, for every device.
static halyard::CompiledKernel build_gemm() {
    return build("gemm", {{"target", kCudaTarget}, {"schedule", "nk"}, {"type", "float16"}, {"set.rows", "64"}, {"set.columns", "64"}});
}

TEST_CASE("kernels for every device in one library: gemm") {
    const auto kernel = build_gemm();
    const Case aligned = {"aligned", {{"m", 70}, {"n", 136}, {"k", 200}}}, odd = {"odd", {{"m", 65}, {"n", 33}, {"k", 71}}};
    for (const auto &c : {aligned, odd}) {
        CHECK(check_case(gemm_test(), halyard::find_op("gemm"), kernel, c, Placement(0), 1) == "");
    }
}

// Rows that end within the 16 bytes that are stored at once, with somebody else's elements behind them.
TEST_CASE("kernels for every device in one library: gemm of slices") {
    const auto kernel = build_gemm();
    const std::vector<Dims> sizes = {{{"m", 130}, {"n", 250}, {"k", 64}},
                                     {{"m", 64}, {"n", 1}, {"k", 64}},
                                     {{"m", 5}, {"n", 1001}, {"k", 71}},
                                     {{"m", 1}, {"n", 1}, {"k", 1}},
                                     {{"m", 66}, {"n", 72}, {"k", 136}}};
    for (const auto &dims : sizes) {
        for (int i = 0; i < kViews; i++) {
            const auto view = Placement(int(Placement::kView) + i);
            CHECK(check_case(gemm_test(), halyard::find_op("gemm"), kernel, {"a slice", dims}, view, 1) == "");
        }
    }
}

// Blocks have no tile, one or several: of the two halves that take turns each may be the last.
TEST_CASE("kernels for every device in one library: gemm, a tile for each half of a block") {
    const auto kernel = build("gemm", {{"target", kCudaTarget},
                                       {"type", "bfloat16"},
                                       {"add_bias", "true"},
                                       {"add_residual", "true"},
                                       {"set.rows", "64"},
                                       {"set.columns", "64"},
                                       {"set.stages", "3"},
                                       {"set.ping_pong", "true"}});
    const std::map<std::string, Dims> sizes = {{"one tile", {{"m", 64}, {"n", 64}, {"k", 72}}},
                                               {"an odd number of tiles", {{"m", 320}, {"n", 64}, {"k", 72}}},
                                               {"an even number", {{"m", 130}, {"n", 328}, {"k", 264}}},
                                               {"no depth", {{"m", 200}, {"n", 200}, {"k", 0}}},
                                               {"odd", {{"m", 65}, {"n", 133}, {"k", 71}}}};
    check_sizes(gemm_test(), "gemm", kernel, sizes);
}

TEST_CASE("kernels for every device in one library: gemm_reduce, a tile for each half of a block") {
    for (const char *reduction : {"max", "logsumexp"}) {
        const auto kernel = build("gemm_reduce", {{"target", kCudaTarget},
                                                  {"type", "bfloat16"},
                                                  {"weights", "nk"},
                                                  {"reduction", reduction},
                                                  {"set.panel", "64"},
                                                  {"set.rows", "64"},
                                                  {"set.stages", "3"},
                                                  {"set.ping_pong", "true"}});
        const std::map<std::string, Dims> sizes = {{"one tile", {{"m", 64}, {"n", 64}, {"k", 72}}},
                                                   {"an odd number of tiles", {{"m", 320}, {"n", 64}, {"k", 72}}},
                                                   {"odd", {{"m", 65}, {"n", 333}, {"k", 71}}}};
        check_sizes(gemm_reduce_test(), "gemm_reduce", kernel, sizes);
    }
}

// Threads beyond the last column read no scale: there may be none at their place of shared memory.
TEST_CASE("kernels for every device in one library: swiglu with scales of blocks of a few columns") {
    const auto kernel = build("swiglu", {{"target", kCudaTarget},
                                         {"type", "bfloat16"},
                                         {"add_bias", "true"},
                                         {"activation", "relu"},
                                         {"output", "int8"},
                                         {"scaling", "block"},
                                         {"set.rows", "64"},
                                         {"set.columns", "64"}});
    check_sizes(swiglu_test(), "swiglu", kernel, {{"one", {{"m", 1}, {"n", 1}, {"k", 1}}}, {"odd", {{"m", 3}, {"n", 121}, {"k", 71}}}});
}

// For sm_80, warps of 32 rows, warps of 16, and tiles that several blocks divide.
TEST_CASE("kernels for every device in one library: attention") {
    const struct {
        const char *head_dim, *query_block, *key_block;
    } tiles[] = {{"128", "128", "64"}, {"64", "128", "128"}, {"128", "128", "128"}, {"256", "64", "64"}};
    for (const auto &t : tiles) {
        const auto kernel = build("attention", {{"target", kCudaTarget},
                                                {"type", "bfloat16"},
                                                {"causal", "true"},
                                                {"set.query_block", t.query_block},
                                                {"set.key_block", t.key_block},
                                                {"set.head_dim", t.head_dim}});
        const Case some = {"some",
                           {{"d", std::stoi(t.head_dim)}, {"queries", 133}, {"keys", 150}, {"heads", 2}, {"key_heads", 1}, {"batch", 1}}};
        CHECK(check_case(attention_test(), halyard::find_op("attention"), kernel, some, Placement(0), 1) == "");
    }
}

// Also for a handler of errors, which gets each text before its code comes to the function.
TEST_CASE("kernels for every device in one library: errors of the device's memory name the function") {
    const auto kernel = build("softmax", {{"target", kCudaTarget}});
    auto arguments = make_arguments(halyard::find_op("softmax"), kernel, {{"rows", 5}, {"cols", 5}}, 1);
    arguments.buffer("x").raw()->flags = halide_buffer_flag_host_dirty | halide_buffer_flag_device_dirty;
    const halyard::CallResult r = kernel.call(arguments);
    CHECK(r.code == halide_error_code_host_and_device_dirty);
    CHECK_THAT(r.message, Catch::StartsWith("softmax: Buffer has both host and device dirty bits set"));
}

// A version for depths that are one round is not taken for others; who takes its parameters for all calls is told.
TEST_CASE("kernels for every device in one library: gemm_q in one round") {
    const auto kernel = build("gemm_q", {{"target", kCudaTarget},
                                         {"schedule", "gemm_q.interleaved"},
                                         {"format", "q4_0"},
                                         {"interleaved", "16"},
                                         {"parts", "4"},
                                         {"set.rows", "1"},
                                         {"set.turns", "1"},
                                         {"set.once", "0"},
                                         {"set.rounds", "1"}});
    check_sizes(gemm_q_test(), "gemm_q", kernel, {{"one round", {{"m", 2}, {"n", 33}, {"k", 128}}}});
    const Case longer = {"two rounds", {{"m", 2}, {"n", 33}, {"k", 160}}};
    const std::string refused = check_case(gemm_q_test(), halyard::find_op("gemm_q"), kernel, longer, Placement(0), 1);
    INFO(refused);
    CHECK(is_refusal(refused));
    CHECK(refused.find("take rounds=0") != std::string::npos);
}
