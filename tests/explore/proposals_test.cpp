// What the search proposes for every op of the registry, at small sizes: the first guess is right (of those whose lines have a form that no
// other's have), and other answers to its decisions are right too, or rejected with a message: none computes something else.

#include <random>

#include <catch2/catch.hpp>

#include "explore/measure/measurer.h"
#include "kernel/registry.h"
#include "explore/space/search.h"
#include "forms.h"

using namespace halyard;
using namespace halyard::explore;

namespace {

// A time of another schedule that none reaches: candidates are called a few times, to be checked, and not timed on.
constexpr double kBest = 1e-9;

// Sizes that no tile divides.
Dims small(const Op &op) {
    Dims dims;
    for (const auto &name : op.dims) {
        dims[name] = 37;
    }
    const std::map<std::string, int64_t> known = {{"groups", 1},  {"g", 3},     {"n", 50},    {"c", 48},
                                                  {"d", 32},      {"batch", 2}, {"heads", 4}, {"key_heads", 2},
                                                  {"vocab", 100}, {"n_q", 96},  {"n_kv", 48}, {"width", 26}};
    for (auto &d : dims) {
        const auto it = known.find(d.first);
        d.second = it == known.end() ? d.second : it->second;
    }
    if (dims.count("w")) {
        dims["n"] = 2;
    }
    if (op.name == "gemm_q") {
        dims["k"] = 96;  // whole blocks of weights
    }
    return dims;
}

Task task_of(const std::string &name) {
    Task t;
    t.op = name;
    t.shape = small(find_op(name));
    t.threads = 2;
    t.limits.run_seconds = 10;
    return t;
}

Task task_of_generator(const std::string &name, const Dims &shape = {}) {
    Task t;
    t.op = name;
    t.generator = std::string(HALYARD_EXPLORE_GENERATORS) + "/" + name + ".generator";
    t.threads = 2;
    t.shape = shape;
    return t;
}

// Pictures in and out, whose sides no tile divides.
Dims of_picture(const std::string &output, int64_t channels) {
    return {{"input.0", 203}, {"input.1", 149}, {"input.2", channels}, {output + ".0", 203}, {output + ".1", 149}, {output + ".2", 3}};
}

}  // namespace

TEST_CASE("the first guess of every op is right", "[proposals]") {
    std::vector<Task> tasks;
    std::vector<Candidate> guesses;
    std::vector<std::string> texts;
    for (const auto &name : op_names()) {
        if (name == "sample") {
            continue;  // of a hundred Funcs, of whose first guess a compiler makes more than a minute's work
        }
        INFO(name);
        tasks.push_back(task_of(name));
        guesses.push_back(Search(tasks.back(), {}, {}).propose({}).candidate);
        texts.push_back(guesses.back().lua);
    }
    const std::vector<size_t> places = explore_test::telling(texts);
    CHECK(places.size() >= 8);
    for (const size_t place : places) {
        INFO(tasks[place].op);
        INFO(texts[place]);
        const Measured m = Measurer(tasks[place]).measure(guesses[place], kBest);
        INFO(m.message);
        CHECK(m.ok());
    }
}

TEST_CASE("the first guess for a generator that no registry knows is right", "[proposals]") {
    // At sizes that no tile divides; conv_relu at its estimates, which lack the borders of its input.
    const std::map<std::string, Dims> sizes = {
        {"bilateral_grid", {{"input.0", 203}, {"input.1", 149}, {"smooth.0", 203}, {"smooth.1", 149}}},
        {"blur", {}},
        {"circle_max", of_picture("largest", 3)},
        {"conv_relu", {}},
        {"equalize", of_picture("even", 3)},
        {"harris", {}},
        {"patch_means", of_picture("mean", 3)},
        {"pyramid_fill", of_picture("filled", 4)},
        {"recursive_blur", of_picture("smooth", 3)},
        {"stencil_chain", {{"input.0", 203}, {"input.1", 149}, {"smooth.0", 203}, {"smooth.1", 149}}},
        {"tone_laplacian", of_picture("toned", 3)},
        {"unsharp", {}},
    };
    // So that a compiler takes seconds.
    const std::map<std::string, Assignments> few = {{"conv_relu", {{"width", "10"}}},
                                                    {"pyramid_fill", {{"levels", "4"}}},
                                                    {"stencil_chain", {{"stages", "4"}}},
                                                    {"tone_laplacian", {{"levels", "3"}, {"named", "false"}}}};
    for (const auto &[name, shape] : sizes) {
        INFO(name);
        Task t = task_of_generator(name, shape);
        if (const auto p = few.find(name); p != few.end()) {
            t.params = p->second;
        }
        const Proposal p = Search(t, {}, {}).propose({});
        INFO(p.candidate.lua);
        const Measured m = Measurer(t).measure(p.candidate, kBest);
        INFO(m.message);
        CHECK(m.ok());
    }
}

TEST_CASE("the first guess for the blocks of a transformer sums products in registers and stores no head twice", "[blocks]") {
    const std::map<std::string, Dims> sizes = {
        {"attention_block",
         {{"x.0", 100},          {"x.1", 133},         {"weight.0", 100},     {"w_q_packed.0", 1},   {"w_q_packed.1", 64},
          {"w_q_packed.2", 100}, {"w_q_packed.3", 4},  {"w_k_packed.0", 1},   {"w_k_packed.1", 64},  {"w_k_packed.2", 100},
          {"w_k_packed.3", 2},   {"w_v_packed.0", 1},  {"w_v_packed.1", 64},  {"w_v_packed.2", 100}, {"w_v_packed.3", 2},
          {"w_o_packed.0", 1},   {"w_o_packed.1", 64}, {"w_o_packed.2", 256}, {"w_o_packed.3", 2},   {"positions.0", 133},
          {"cos_table.0", 32},   {"cos_table.1", 64},  {"sin_table.0", 32},   {"sin_table.1", 64},   {"y.0", 100},
          {"y.1", 133}}},
        {"feed_forward_block",
         {{"x.0", 100},
          {"x.1", 37},
          {"weight.0", 100},
          {"w_gate_packed.0", 1},
          {"w_gate_packed.1", 48},
          {"w_gate_packed.2", 100},
          {"w_gate_packed.3", 3},
          {"w_up_packed.0", 1},
          {"w_up_packed.1", 48},
          {"w_up_packed.2", 100},
          {"w_up_packed.3", 3},
          {"w_down_packed.0", 1},
          {"w_down_packed.1", 48},
          {"w_down_packed.2", 130},
          {"w_down_packed.3", 3},
          {"hidden", 130},
          {"y.0", 100},
          {"y.1", 37}}},
    };
    // What is summed in registers, in the loops of what reads it: gate and up in one nest, a head of q, k or v with its rotation.
    const std::map<std::string, std::vector<std::string>> parts = {
        {"feed_forward_block", {"k.gate, k.h,", "k.up, k.h,", "k.down, k.y,"}},
        {"attention_block",
         {"k.acc_k, k.turned_k,", "k.acc_v, k.head_v,", "k.acc_q, k.turned_q,", "k.weighted, k.attended,", "k.back, k.y,"}}};
    for (const auto &[name, shape] : sizes) {
        INFO(name);
        Task t = task_of_generator(name, shape);
        t.limits.build_seconds = 300;  // where others use the machine
        if (name == "attention_block") {
            t.params = {{"heads", "4"}, {"key_heads", "2"}};
        }
        const Proposal p = Search(t, {}, {}).propose({});
        INFO(p.candidate.lua);
        for (const auto &part : parts.at(name)) {
            CHECK(p.candidate.lua.find("gemm.in_registers(" + part) != std::string::npos);
        }
        const Measured m = Measurer(t).measure(p.candidate, kBest);
        INFO(m.message);
        CHECK(m.ok());
    }
}

TEST_CASE("a first guess gives recurrences and histograms tasks and lanes", "[proposals]") {
    const auto guess = [](const std::string &name) { return Search(task_of_generator(name), {}, {}).propose({}).candidate.lua; };
    const auto has = [](const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; };
    const std::string scan = guess("recursive_blur"), counts = guess("equalize");
    INFO(scan << counts);
    for (const char *update : {"k.down:update(1)", "k.down:update(2)"}) {
        CHECK(has(scan, std::string(update) + ":split(\"x\""));
    }
    CHECK(has(scan, "\"x_strip\"):parallel \"x_strip\":vectorize(\"x_in\", lanes, \"guard\")"));
    CHECK(has(counts, "local counts_copies = k.counts:update(0):rfactor("));
    CHECK(has(counts, "update(0):parallel \"copy\""));
}

TEST_CASE("random answers are right or rejected", "[random_proposals]") {
    std::mt19937_64 random(7);
    for (const char *name : {"layer_norm", "softmax", "gemm", "depthwise_conv2d", "gemm_reduce", "transpose"}) {
        const Task t = task_of(name);
        Search search(t, {}, {});
        Measurer measurer(t);
        for (int i = 0; i < 4; i++) {
            Answers answers;
            for (const ChoicePoint &p : search.propose({}).points) {
                answers[p.name] = p.options[random() % p.options.size()];
            }
            const Proposal p = search.propose(answers);
            INFO(name << "\n" << p.candidate.lua);
            const Measured m = measurer.measure(p.candidate, kBest);
            INFO(m.message);
            CHECK(m.status != Status::kWrongResult);
            CHECK((m.ok() || !m.message.empty()));
        }
    }
}
