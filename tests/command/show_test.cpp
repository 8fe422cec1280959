// halyard show: the loops beside the Lua that made them.

#include <catch2/catch.hpp>

#include "support.h"

namespace {

bool is_loop(const std::string &text) {
    const std::string t = halyard::trim(text);
    return t.back() == ':' && !halyard::starts_with(t, "produce ") && !halyard::starts_with(t, "consume ") &&
           !halyard::starts_with(t, "store ");
}

// What is said of a place must stand there.
void check_place(const nlohmann::json &entry) {
    const std::string file = entry.at("file");
    const int line = entry.at("line");
    INFO(file << ":" << line);
    CHECK(entry.at("source") == line_of(read_file(file), line));
}

}  // namespace

TEST_CASE("Every loop that a word made stands beside its line", "[show]") {
    for (const std::string op : {"rms_norm", "softmax"}) {
        const nlohmann::json report = run_json({"show", op, "--target", "avx2"});
        CHECK(report.at("ok") == true);
        CHECK(report.at("op") == op);
        CHECK(report.at("script") == HALYARD_SOURCE "/schedules/cpu/" + op + ".lua");
        CHECK(contains(report.at("target"), "avx2"));
        CHECK(report.at("params").is_object());
        CHECK(report.at("generator").is_object());
        CHECK(report.at("files").size() > 1);
        CHECK(report.at("nest").size() > 5);
        for (const auto &entry : report.at("nest")) {
            INFO(entry.dump());
            // A fused schedule leaves no loop as it was.
            CHECK((!is_loop(entry.at("text")) || entry.contains("line")));
            if (entry.contains("line")) {
                check_place(entry);
            }
        }
    }
}

TEST_CASE("The text has the lines of the report", "[show]") {
    const nlohmann::json report = run_json({"show", "rms_norm"});
    const ProcessResult r = run({"show", "rms_norm"});
    REQUIRE(r.exit_code == 0);
    CHECK(contains(line_of(r.out, 1), "accum=4,rows=8"));
    int number = 1;
    for (const auto &entry : report.at("nest")) {
        const std::string line = line_of(r.out, ++number);
        INFO(line);
        CHECK(halyard::starts_with(line, halyard::trim(entry.at("text"))));
        const size_t bar = line.find("  | ");
        CHECK((bar != std::string::npos) == entry.contains("line"));
        if (bar != std::string::npos && !halyard::ends_with(line, "\"")) {
            CHECK(contains(line.substr(bar), std::to_string(entry.at("line").get<int>()) + "  " + entry.at("source").get<std::string>()));
        }
    }
}

TEST_CASE("--set is seen in the loops", "[show]") {
    CHECK(contains(run({"show", "rms_norm", "--set", "rows=16"}).out, "row_in_task in [0, 15]"));
    CHECK(contains(run({"show", "rms_norm", "--set", "rows=4,accum=2"}).out, "row_in_task in [0, 3]"));
}

TEST_CASE("Word by word", "[show]") {
    const Folder folder;
    const std::string script = write_schedule(folder / "s.lua");
    const nlohmann::json steps = run_json({"show", "rms_norm", "--schedule", script, "--step"}).at("steps");
    REQUIRE(steps.size() == 3);
    for (const auto &step : steps) {
        check_place(step);
    }
    const ProcessResult r = run({"show", "rms_norm", "--schedule", script, "--step"});
    REQUIRE(r.exit_code == 0);
    const std::string &text = r.out;
    const size_t split = text.find("1. " + script + ":6  split:"), parallel = text.find("2. " + script + ":7  parallel:"),
                 compute_at = text.find("3. " + script + ":8  compute_at:");
    REQUIRE(text.find("before the first word") < split);
    REQUIRE(split < parallel);
    REQUIRE(parallel < compute_at);
    REQUIRE(compute_at != std::string::npos);
    CHECK(contains(text.substr(split, parallel - split), "+     for row_inner in [0, 3]:"));
    const std::string second = text.substr(parallel, compute_at - parallel);
    CHECK(contains(second, "-   for row_outer:"));
    CHECK(contains(second, "+   parallel row_outer:"));
    CHECK(contains(text.substr(compute_at), "+       produce inv_rms:"));
}

TEST_CASE("A wrong schedule is shown as far as --json can", "[show]") {
    const Folder folder;
    const std::string script = write_wrong_schedule(folder / "wrong.lua");
    const ProcessResult r = run({"show", "rms_norm", "--schedule", script});
    CHECK(r.exit_code == 1);
    CHECK(r.out == "");
    CHECK(halyard::starts_with(r.err, script + ":8: error: "));

    const nlohmann::json report = run_json({"show", "rms_norm", "--schedule", script}, 1);
    CHECK(report.at("ok") == false);
    const nlohmann::json error = report.at("error");
    CHECK(error.at("file") == script);
    CHECK(error.at("line") == 8);
    CHECK(contains(error.at("message"), "inv_rns"));
    CHECK(contains(error.at("hint"), "inv_rms"));
    CHECK(error.at("text").get<std::string>() + "\n" == r.err);
}

TEST_CASE("There is nothing to show without a schedule", "[show]") {
    const ProcessResult r = run({"show", "rms_norm", "--schedule", "none"});
    CHECK(r.exit_code == 2);
    CHECK(contains(r.err, "show needs a schedule"));
}

TEST_CASE("The passes over CUDA kernels, and what one left", "[show]") {
    const std::vector<std::string> kernels = {"--target", "cuda", "--devices", "emulator"};
    const auto shown = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.end(), kernels.begin(), kernels.end());
        return run(arguments);
    };
    const ProcessResult passes = shown({"show", "rms_norm", "--passes"});
    INFO(passes.err);
    REQUIRE(passes.exit_code == 0);
    size_t at = 0;
    for (const char *name : {"number_blocks", "keep_in_registers", "assume_zero_mins", "collapse_dimensions", "mark_aligned_vectors",
                             "reuse_in_registers", "divide_by_sizes"}) {
        const size_t next = passes.out.find(std::string(name) + " ");
        INFO(name << " in\n" << passes.out);
        REQUIRE(next != std::string::npos);
        CHECK(next >= at);
        at = next;
    }

    // Before it the kernel loads where it needs an element, after it once.
    const ProcessResult before = shown({"show", "rms_norm", "--after", "predicate_loads"}),
                        after = shown({"show", "rms_norm", "--after", "reuse_in_registers"});
    CHECK(contains(before.out, "rms_norm_y, for vectors, after predicate_loads"));
    CHECK(contains(after.out, "rms_norm_y, for vectors, after reuse_in_registers"));
    CHECK(before.out.substr(before.out.find('\n')) != after.out.substr(after.out.find('\n')));

    const ProcessResult wrong = shown({"show", "rms_norm", "--after", "reuse_registers"});
    CHECK(wrong.exit_code == 2);
    CHECK(contains(wrong.err, "--after reuse_registers: no such pass went over these kernels"));
    CHECK(contains(wrong.err, "did you mean \"reuse_in_registers\"?"));
    const ProcessResult host = run({"show", "rms_norm", "--passes"});
    CHECK(host.exit_code == 2);
    CHECK(contains(host.err, "add --target cuda"));
}
