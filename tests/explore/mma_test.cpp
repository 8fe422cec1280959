// Products by tile instructions (AMX) as a decision: what is written is right, at sizes that no tile divides, and it is
// not offered where an operand is not stored as the instructions want it. Where the processor has no tiles, the runtime
// multiplies in plain loops, and what surrounds them is the same.

#include <algorithm>

#include <catch2/catch.hpp>

#include "explore/measure/measurer.h"
#include "explore/space/search.h"

using namespace halyard;
using namespace halyard::explore;
using Catch::Contains;

namespace {

// A time of another schedule that none reaches: candidates are called a few times, to be checked, and not timed on.
constexpr double kBest = 1e-9;

Task task_of(const std::string &op, const Dims &shape, const Assignments &params) {
    Task t;
    t.op = op;
    t.shape = shape;
    t.params = params;
    t.threads = 2;
    t.limits.run_seconds = 10;
    return t;
}

std::vector<std::string> offered(const Proposal &p) {
    std::vector<std::string> hosts;
    for (const auto &c : p.points) {
        if (c.name.compare(0, 7, "mma in ") == 0) {
            hosts.push_back(c.name.substr(7));
        }
    }
    return hosts;
}

// Tiles wherever they are offered, with other answers too.
void check(const Task &task, const Answers &others = {}) {
    Search search(task, {}, {});
    Proposal p = search.propose(others);
    INFO(task.op);
    REQUIRE_FALSE(offered(p).empty());
    for (bool all = false; !all;) {
        Answers answers = others;
        for (const auto &host : offered(p)) {
            answers["mma in " + host] = "yes";
        }
        p = search.propose(answers);
        const auto now = offered(p);  // what reads its operands as they are stored may move where others are cut
        all = std::all_of(now.begin(), now.end(), [&](const auto &host) { return p.answers.at("mma in " + host) == "yes"; });
    }
    INFO(p.candidate.lua);
    CHECK_THAT(p.candidate.lua, Contains("local mma = require \"lib.mma\"") && Contains("mma.in_tiles("));
    const Measured m = Measurer(task).measure(p.candidate, kBest);
    INFO(m.message);
    CHECK(m.ok());
}

const Assignments kBf16 = {{"type", "bfloat16"}, {"weights", "packed"}}, kF32 = {{"weights", "packed"}};

Assignments with(Assignments params, const Assignments &more) {
    params.insert(more.begin(), more.end());
    return params;
}

}  // namespace

TEST_CASE("gemm of bf16 in tiles", "[mma]") {
    const Dims odd = {{"m", 77}, {"n", 100}, {"k", 45}};
    for (const char *rows : {"16", "64"}) {
        check(task_of("gemm", odd, kBf16), {{"rows of y", rows}, {"task of y", "2"}});
    }
    check(task_of("gemm", {{"m", 2}, {"n", 33}, {"k", 3}}, kBf16));
    check(task_of("gemm", {{"m", 77}, {"n", 100}, {"k", 601}}, kBf16), {{"rows of y", "64"}, {"depth of acc", "256"}});
    // Weights as they are written: the copy of them is what lies in groups.
    check(task_of("gemm", odd, {{"type", "bfloat16"}, {"weights", "kn"}}));
}

TEST_CASE("gemm of float32 in tiles", "[mma]") {
    const Dims odd = {{"m", 77}, {"n", 100}, {"k", 45}};
    check(task_of("gemm", odd, with(kF32, {{"add_bias", "true"}, {"activation", "gelu_tanh"}, {"add_residual", "true"}})),
          {{"rows of y", "64"}, {"task of y", "2"}});
    check(task_of("gemm", {{"m", 2}, {"n", 33}, {"k", 3}}, kF32));
    check(task_of("swiglu", {{"m", 45}, {"n", 100}, {"k", 71}}, kF32));
    check(task_of("gemm_reduce", {{"m", 37}, {"n", 100}, {"k", 71}}, kF32));
}

TEST_CASE("gemm of bytes in tiles", "[mma]") {
    const Dims odd = {{"m", 45}, {"n", 100}, {"k", 71}};
    check(task_of("gemm_int8", odd, {{"a_type", "int8"}, {"add_bias", "true"}, {"activation", "relu"}}));
    check(task_of("swiglu_int8", odd, {{"scaling", "row"}}));
}

TEST_CASE("what is fused with a product stays so in tiles", "[mma]") {
    check(task_of("swiglu", {{"m", 45}, {"n", 100}, {"k", 71}}, kBf16));
    check(task_of("qkv_projection", {{"m", 37}, {"n_q", 96}, {"n_kv", 48}, {"depth", 71}}, kBf16));
    check(task_of("rms_norm_gemm", {{"m", 37}, {"n", 100}, {"k", 71}}, kBf16));
    check(task_of("swiglu_mlp", {{"m", 37}, {"n", 100}, {"k", 71}, {"hidden", 66}}, kBf16));
    check(task_of("swiglu_mlp_int8", {{"m", 37}, {"n", 100}, {"k", 71}, {"hidden", 66}}, {}));
}

TEST_CASE("convolutions in tiles, a call for each element of the window", "[mma]") {
    const Dims odd = {{"c", 37}, {"o", 70}, {"groups", 1}, {"h", 9}, {"w", 21}, {"n", 2}};
    check(task_of("conv2d", odd, with(kBf16, {{"add_bias", "true"}})));
    check(task_of("conv2d_int8", odd, {{"zero_point", "true"}}));
}

TEST_CASE("tiles are offered only for what their instructions take", "[mma]") {
    const Dims odd = {{"m", 37}, {"n", 100}, {"k", 48}};
    CHECK(offered(Search(task_of("gemm", {{"m", 1}, {"n", 100}, {"k", 48}}, kBf16), {}, {}).propose({})).empty());
    for (const Assignments &params : {Assignments{{"type", "float16"}, {"weights", "packed"}}, Assignments{{"weights", "nk"}},
                                      Assignments{{"type", "bfloat16"}, {"weights", "nk"}}}) {
        CHECK(offered(Search(task_of("gemm", odd, params), {}, {}).propose({})).empty());
    }
    CHECK(offered(Search(task_of("gemm_int8", odd, {{"weights", "nk"}}), {}, {}).propose({})).empty());
    CHECK(offered(Search(task_of("softmax", {{"rows", 37}, {"cols", 100}}, {{"type", "bfloat16"}}), {}, {}).propose({})).empty());
}

TEST_CASE("tiles are the first guess where the target has them, and only there", "[mma]") {
    Task t = task_of("gemm", {{"m", 512}, {"n", 512}, {"k", 512}}, kBf16);
    t.target = "avx512_sapphirerapids";
    CHECK(Search(t, {}, {}).propose({}).answers.at("mma in y") == "yes");
    t.target = "avx512_zen4";
    CHECK(Search(t, {}, {}).propose({}).answers.at("mma in y") == "no");
    // Float32 from as many rows on as pay for the parts of the weights.
    for (const auto &[rows, answer] : {std::pair(56, "no"), {64, "yes"}}) {
        t = task_of("gemm", {{"m", rows}, {"n", 512}, {"k", 512}}, kF32);
        t.target = "avx512_sapphirerapids";
        CHECK(Search(t, {}, {}).propose({}).answers.at("mma in y") == answer);
    }
}
