// halyard explain of every op: only what is counted, so that nothing is compiled.

#include <catch2/catch.hpp>

#include <cmath>
#include <cstdio>
#include <functional>

#include <unistd.h>

#include "explain/explain_html.h"
#include "explain/explain_run.h"
#include "explain/explain_table.h"
#include "tests/command/support.h"

namespace {

using halyard::Dims;

// What a call multiplies and adds, by hand, and the part of it that a schedule may leave out: padding.
struct ByHand {
    std::function<double(const Dims &)> flops;
    double left_out = 0.01;
};

const std::map<std::string, ByHand> &by_hand() {
    const auto product = [](const Dims &d) { return 2.0 * double(d.at("m") * d.at("n") * d.at("k")); };
    const auto projections = [](const Dims &d) { return 2.0 * double(d.at("m") * d.at("depth") * (d.at("n_q") + 2 * d.at("n_kv"))); };
    const auto fronts = [](const Dims &d) {
        return 2.0 * double(d.at("tokens") * d.at("depth") * d.at("d") * (d.at("heads") + 2 * d.at("key_heads")));
    };
    const auto block = [](const Dims &d) { return 2.0 * double(d.at("m") * d.at("hidden") * (2 * d.at("k") + d.at("n"))); };
    const auto scores = [](const Dims &d) {
        return 4.0 * double(d.at("d") * d.at("queries") * d.at("keys") * d.at("heads") * d.at("batch"));
    };
    const auto twice = [=](const Dims &d) { return 2 * product(d); };
    // A window of 3 by 3 around each pixel.
    const auto channels = [](const Dims &d) { return 18.0 * double(d.at("w") * d.at("h") * d.at("c") * d.at("n")); };
    const auto windows = [=](const Dims &d) { return channels(d) * double(d.at("o") * d.at("groups")); };
    static const std::map<std::string, ByHand> table = {
        {"rms_norm", {[](const Dims &d) { return 4.0 * double(d.at("rows") * d.at("cols")); }}},
        {"gemm", {product}},
        {"gemm_int8", {product}},
        {"gemm_fp8", {product}},
        {"gemm_q", {product}},
        {"gemm_reduce", {product}},
        {"gemm_top_k", {product}},
        {"linear_cross_entropy", {product}},
        {"moe_router", {product}},
        {"rms_norm_gemm", {product}},
        {"swiglu", {twice}},
        {"swiglu_int8", {twice}},
        {"swiglu_mlp", {block}},
        {"swiglu_mlp_int8", {block}},
        {"qkv_projection", {projections}},
        {"qkv_projection_int8", {projections}},
        {"qkv_rope", {fronts}},
        {"attention", {scores}},
        {"decode_attention", {scores}},
        {"conv2d", {windows, 0.05}},
        {"conv2d_int8", {windows, 0.05}},
        {"depthwise_conv2d", {channels, 0.05}},
        {"depthwise_conv2d_int8", {channels, 0.05}}};
    return table;
}

// What a function prints.
std::string printed(const std::function<void()> &print) {
    std::fflush(stdout);
    const Folder folder;
    const std::string path = folder / "printed";
    const int before = dup(STDOUT_FILENO);
    REQUIRE(std::freopen(path.c_str(), "w", stdout));
    print();
    std::fflush(stdout);
    dup2(before, STDOUT_FILENO);
    close(before);
    return read_file(path);
}

std::vector<halyard::Explained> counted(const halyard::Op &op) {
    halyard::ExplainRequest request;
    request.shape = op.shapes.front();
    halyard::GenerateRequest shipped;
    shipped.op = op.name;
    request.schedules = {shipped};
    return halyard::count_schedules(op, request);
}

}  // namespace

TEST_CASE("Every op is explained: as JSON, as a table and as a page", "[ops]") {
    const halyard::Machine machine = halyard::measured_machine(1, false);
    for (const auto &op : halyard::registry()) {
        INFO(op.name);
        const auto all = counted(op);
        const nlohmann::json j = halyard::explanation_json(all, machine).at("schedules").at(0);
        REQUIRE(j.at("stages").size() >= 1);
        // All arguments come from memory, and no schedule that ships reads much of them twice. A line that is written was read
        // before, or is stored past the caches. Bounds of what a window or a list touches are a little low.
        const nlohmann::json &memory = j.at("cold").at("bytes").at("DRAM");
        const double needed = j.at("needed_bytes"), read = memory.at("read"), written = memory.at("written");
        const bool known_bytes = op.name != "grouped_gemm";  // which experts' weights are read stands in its arrays
        CHECK((read + written >= 0.9 * needed || !known_bytes));
        CHECK(read <= 1.1 * needed);
        if (const auto known = by_hand().find(op.name); known != by_hand().end()) {
            const double flops = known->second.flops(op.shapes.front());
            CHECK(j.at("flops") >= (1 - known->second.left_out) * flops);
            CHECK(j.at("flops") <= 1.4 * flops);  // with softmax, epilogues, the last tiles and groups of 4 for 3
        }
        for (const char *state : {"warm", "cold"}) {
            CHECK((j.at(state).at("predicted_seconds") >= 0.9 * j.at(state).at("floor_seconds").get<double>() || !known_bytes));
            CHECK(j.at(state).at("floor_seconds") > 0);
            CHECK(j.at(state).at("measured_seconds").is_null());
        }
        CHECK(j.at("about").size() >= 3);
        for (const auto &s : j.at("stages")) {
            INFO(s.at("stage"));
            CHECK((s.at("recomputed").is_null() || s.at("recomputed") >= 0.99));
            CHECK(s.at("scalar_flops") <= s.at("flops").get<double>());
            CHECK(std::isfinite(s.at("warm").at("predicted_seconds").get<double>()));
        }
        const std::string table = printed([&] { halyard::print_explanation(all, machine, false); });
        CHECK(contains(table, "In the cache: predicted") != contains(table, "Again on the same data, which fits no cache: predicted"));
        CHECK_FALSE(contains(table, "nan"));
        for (const auto &s : j.at("stages")) {
            CHECK(contains(table, s.at("stage")));
        }
        // q, k and v, whose parallel loops are one.
        const bool side_by_side = op.name.compare(0, 14, "qkv_projection") == 0 || op.name == "qkv_rope";
        CHECK(contains(table, "The parallel loops of q, k, v are one") == side_by_side);
        const std::string page = halyard::explanation_html(all, machine);
        CHECK(count(page, "<tr class=\"stage\">") >= 1);
        CHECK_FALSE(contains(page, "nan "));
        CHECK_FALSE(contains(page, "class=\"counters\""));  // nothing ran
    }
}

TEST_CASE("The processor's counters stand in the page", "[ops]") {
    const halyard::Machine machine = halyard::measured_machine(1, false);
    auto all = counted(halyard::find_op("bias_activation"));
    all.front().warm.measured = 1e-3;
    all.front().counters = {true, "", 4e6, 8e6, 1000, 500, 3};
    const std::string page = halyard::explanation_html(all, machine);
    CHECK(count(page, "<table class=\"counters\">") == 1);
    CHECK(contains(page, "<td>4e+06</td><td class=\"left\">4.00 GHz over the measured time</td>"));
    CHECK(contains(page, "2.00 a cycle"));
    CHECK(contains(page, "32.0 kB in lines"));
    all.front().counters.available = false;
    CHECK(count(halyard::explanation_html(all, machine), "<tr><th scope=\"row\">page faults</th>") == 1);
}

TEST_CASE("Nothing is compiled for what is only counted", "[ops]") {
    const ProcessResult r = run({"explain", "softmax", "--schedule", "softmax", "--count"});
    CHECK(r.exit_code == 0);
    CHECK(contains(r.out, "llvm-mca: not asked"));
    const ProcessResult cuda = run({"explain", "softmax", "--target", "cuda-sm_90a", "--count"});
    CHECK(cuda.exit_code == 2);
    CHECK(contains(cuda.err, "--count"));
}
