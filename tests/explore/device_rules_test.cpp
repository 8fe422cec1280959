// Schedules for CUDA by rules: of every op of the registry, at sizes of which no tile is a divisor; those whose lines have a form that no
// other's have run on the emulator.

#include <algorithm>

#include <catch2/catch.hpp>

#include "explore/measure/candidate_process.h"
#include "explain/cubin.h"
#include "explore/space/cuda_cost.h"
#include "explore/space/cuda_numbers.h"
#include "explore/measure/measurer.h"
#include "kernel/process.h"
#include "explore/space/query.h"
#include "kernel/registry.h"
#include "explore/space/search.h"
#include "forms.h"
#include "kernel/text.h"

using namespace halyard::explore;
using halyard::Assignments;
using halyard::Dims;

namespace {

// A time of another schedule that none reaches: candidates are called a few times, to be checked, and not timed on.
constexpr double kBest = 1e-9;

struct Case {
    const char *op;
    Dims shape;
    Assignments params;
    Answers other = {};  // besides the first guess, a schedule with these answers
};

const std::vector<Case> &cases() {
    static const std::vector<Case> all = {
        {"rms_norm", {{"rows", 2}, {"cols", 77}}, {{"add_residual", "true"}}},
        {"layer_norm", {{"rows", 2}, {"cols", 45}}, {{"type", "bfloat16"}}},
        {"softmax", {{"rows", 2}, {"cols", 70}}, {}, {{"place of row_max", "root"}}},
        {"batch_norm", {{"w", 7}, {"h", 5}, {"c", 9}, {"n", 2}}, {}},
        {"group_norm", {{"w", 5}, {"h", 3}, {"c", 4}, {"g", 2}, {"n", 2}}, {}},
        {"cross_entropy", {{"rows", 3}, {"cols", 77}}, {}},
        {"attention", {{"d", 13}, {"queries", 5}, {"keys", 21}, {"heads", 2}, {"key_heads", 1}, {"batch", 1}}, {}},
        {"decode_attention", {{"d", 13}, {"queries", 1}, {"keys", 21}, {"heads", 2}, {"key_heads", 1}, {"batch", 1}}, {}},
        {"gemm", {{"m", 70}, {"n", 72}, {"k", 37}}, {{"add_bias", "true"}}, {{"product of acc", "tiles of a thread"}}},
        {"rope", {{"d", 20}, {"width", 16}, {"heads", 3}, {"tokens", 5}, {"length", 100}}, {{"type", "bfloat16"}}},
        {"gemm_int8", {{"m", 70}, {"n", 72}, {"k", 45}}, {}},
        {"gemm_fp8", {{"m", 70}, {"n", 72}, {"k", 45}}, {}},
        {"gemm_q", {{"m", 5}, {"n", 72}, {"k", 64}}, {{"format", "int4"}}},
        {"swiglu", {{"m", 70}, {"n", 72}, {"k", 21}}, {}},
        {"swiglu_int8", {{"m", 70}, {"n", 72}, {"k", 45}}, {}},
        {"qkv_projection", {{"m", 5}, {"n_q", 24}, {"n_kv", 13}, {"depth", 21}}, {}},
        {"qkv_rope",
         {{"d", 20},
          {"width", 16},
          {"heads", 4},
          {"key_heads", 2},
          {"depth", 21},
          {"tokens", 5},
          {"keys", 7},
          {"batch", 2},
          {"length", 100}},
         {{"weights", "nk"}, {"qk_norm", "weight"}}},
        {"qkv_projection_int8", {{"m", 5}, {"n_q", 24}, {"n_kv", 13}, {"depth", 21}}, {}},
        {"gemm_reduce", {{"m", 5}, {"n", 150}, {"k", 21}}, {{"weights", "nk"}}},
        {"linear_cross_entropy", {{"m", 5}, {"n", 150}, {"k", 21}}, {{"weights", "nk"}}},
        {"gemm_top_k", {{"m", 5}, {"n", 150}, {"k", 21}}, {{"weights", "nk"}}},
        {"splade", {{"k", 21}, {"positions", 11}, {"batch", 2}, {"vocab", 50}}, {}},
        {"moe_router", {{"m", 5}, {"n", 17}, {"k", 21}}, {{"weights", "nk"}}},
        {"expert_sort", {{"tokens", 11}, {"top_k", 2}, {"experts", 5}}, {}},
        {"grouped_gemm", {{"tokens", 5}, {"top_k", 2}, {"experts", 3}, {"n", 72}, {"k", 21}}, {{"weights", "nk"}}},
        {"rms_norm_gemm", {{"m", 5}, {"n", 72}, {"k", 72}}, {{"type", "bfloat16"}, {"weights", "nk"}, {"folded", "true"}}},
        {"swiglu_mlp", {{"m", 5}, {"hidden", 21}, {"k", 13}, {"n", 11}}, {}},
        {"swiglu_mlp_int8", {{"m", 5}, {"hidden", 21}, {"k", 13}, {"n", 11}}, {}},
        {"conv2d", {{"c", 5}, {"o", 13}, {"w", 7}, {"h", 3}, {"groups", 2}, {"n", 1}}, {}},
        {"conv2d", {{"c", 24}, {"o", 24}, {"w", 5}, {"h", 3}, {"groups", 1}, {"n", 1}}, {{"type", "bfloat16"}, {"weights", "ohwi"}}},
        {"conv2d_int8", {{"c", 5}, {"o", 7}, {"w", 5}, {"h", 3}, {"groups", 1}, {"n", 1}}, {}},
        {"depthwise_conv2d", {{"c", 13}, {"w", 5}, {"h", 3}, {"n", 2}}, {}},
        {"depthwise_conv2d_int8", {{"c", 13}, {"w", 5}, {"h", 3}, {"n", 2}}, {{"zero_point", "true"}}},
        {"bias_activation", {{"rows", 5}, {"cols", 77}}, {}},
        {"transpose", {{"rows", 70}, {"cols", 45}, {"batch", 2}}, {{"type", "float16"}}},
    };
    return all;
}

Task task_of(const Case &c) {
    Task task;
    task.op = c.op;
    task.shape = c.shape;
    task.params = c.params;
    task.target = "cuda-emulator";
    return task;
}

}  // namespace

TEST_CASE("Every op has a case", "[device_rules]") {
    for (const halyard::Op &op : halyard::registry()) {
        if (op.name == "sample") {
            continue;  // its generator bounds a dimension, of which rules ask for one: that is refused
        }
        INFO(op.name);
        CHECK(std::any_of(cases().begin(), cases().end(), [&](const Case &c) { return c.op == op.name; }));
    }
}

TEST_CASE("Schedules for CUDA by rules are right", "[device_rules]") {
    std::vector<std::pair<const Case *, Candidate>> all;
    std::vector<std::string> texts;
    const auto add = [&](const Case &c, const Candidate &candidate) {
        INFO(c.op << "\n" << candidate.lua);
        CHECK(candidate.predicted > 0);
        all.emplace_back(&c, candidate);
        texts.push_back(candidate.lua);
    };
    for (const Case &c : cases()) {
        SearchOptions options;
        options.rules = true;
        Search search(task_of(c), options, {});
        add(c, search.propose({}).candidate);
        if (!c.other.empty()) {
            add(c, search.propose(c.other).candidate);
            CHECK(texts.back() != texts[texts.size() - 2]);
        }
    }
    const std::vector<size_t> places = explore_test::telling(texts);
    CHECK(places.size() >= 8);
    for (const size_t place : places) {
        const Case &c = *all[place].first;
        INFO(c.op << " " << halyard::assignments_text(c.params) << "\n" << texts[place]);
        const Measured m = Measurer(task_of(c)).measure(all[place].second, kBest);
        INFO(m.message);
        CHECK(m.ok());
    }
}

namespace {

Proposal by_rules(const Task &task, const Answers &answers) {
    SearchOptions options;
    options.rules = true;
    return Search(task, options, {}).propose(answers);
}

Task large(const char *op, Dims shape, Assignments params) {
    Task task;
    task.op = op;
    task.shape = std::move(shape);
    task.params = std::move(params);
    task.target = "cuda-sm_90a";
    return task;
}

// What the compiler gave to a kernel, as the machine code in a library says.
int registers_of(const std::string &library, const std::string &kernel) {
    const size_t fatbin = library.find("\x50\xed\x55\xba");
    REQUIRE(fatbin != std::string::npos);
    const auto kernels = halyard::resources_of(&library[fatbin], 90);
    REQUIRE(kernels.count(kernel) == 1);
    return kernels.at(kernel).registers;
}

}  // namespace

TEST_CASE("Registers of a kernel are about as many as the compiler takes", "[device_registers]") {
    const struct {
        Task task;
        Answers answers;
    } all[] = {
        {large("gemm", {{"m", 4096}, {"n", 4096}, {"k", 4096}}, {{"type", "float32"}, {"weights", "kn"}}), {}},
        {large("gemm", {{"m", 4096}, {"n", 4096}, {"k", 4096}}, {{"type", "float32"}, {"weights", "kn"}}),
         {{"y's rows", "64"}, {"y's columns", "64"}}},
        {large("depthwise_conv2d", {{"c", 512}, {"w", 28}, {"h", 28}, {"n", 64}}, {{"type", "bfloat16"}}), {}},
        {large("depthwise_conv2d", {{"c", 512}, {"w", 28}, {"h", 28}, {"n", 64}}, {{"type", "bfloat16"}}), {{"y's rows", "8"}}},
    };
    for (const auto &one : all) {
        Choices choices(one.answers);
        const Description d = describe_pipeline(one.task, {});
        CudaPlaces places = place_for_cuda(d, choices);
        REQUIRE(places.kernels.size() == 1);
        choose_numbers(places.kernels[0], d, places, choices);
        const CudaResources said = cuda_resources(places.kernels[0], d, places, cuda_machine());
        const halyard::TemporaryDirectory folder(halyard::temporary_root());
        const Candidate candidate = by_rules(one.task, one.answers).candidate;
        INFO(candidate.lua);
        const Built built = build_candidate(one.task, folder.path() + "/built", "", candidate, 60);
        INFO(built.measured.message);
        REQUIRE(built.measured.ok());
        const int taken = registers_of(halyard::read_file(built.library()), one.task.op + "_y");
        INFO("predicted " << said.registers << ", compiled " << taken);
        CHECK(taken > 0);
        CHECK(said.registers >= 0.75 * taken);
        CHECK(said.registers < 1.33 * taken);
    }
}

TEST_CASE("A kernel that no multiprocessor has room for is refused, and one that leaves it idle is predicted slower",
          "[device_registers]") {
    using Catch::Matchers::Contains;
    const Task gemm = large("gemm", {{"m", 4096}, {"n", 4096}, {"k", 4096}}, {{"type", "bfloat16"}, {"weights", "kn"}});
    CHECK(by_rules(gemm, {}).candidate.predicted > 0);
    // 192 rows are three warpgroups, of which none may have more than 160 registers.
    CHECK_THROWS_WITH(by_rules(gemm, {{"y's rows", "192"}}), Contains("y: a block of 512 threads takes 168 registers"));
    CHECK_THROWS_WITH(by_rules(gemm, {{"y's stages", "6"}}), Contains("bytes of shared memory; there are 240 and 232448"));
    const Task softmax = large("softmax", {{"rows", 16384}, {"cols", 4096}}, {{"type", "bfloat16"}});
    const Answers many = {{"y's unroll", "8"}, {"y's vector", "8"}, {"y's threads", "512"}};
    Answers squeezed = many;
    squeezed["y's resident blocks"] = "4";  // 32 registers of a thread
    CHECK(by_rules(softmax, many).candidate.predicted > 0);
    CHECK_THROWS_WITH(by_rules(softmax, squeezed), Contains("there are 32"));
    // Few multiprocessors have something to do with few rows.
    const Task rows = large("softmax", {{"rows", 32}, {"cols", 65536}}, {{"type", "bfloat16"}});
    CHECK(by_rules(rows, {{"y's threads", "32"}}).candidate.predicted > 2 * by_rules(rows, {{"y's threads", "1024"}}).candidate.predicted);
}
