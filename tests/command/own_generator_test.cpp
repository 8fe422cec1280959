// Commands on a Halide generator that no registry knows: sizes are those of its arrays, and results those of its naive schedule.

#include <regex>

#include <catch2/catch.hpp>

#include "support.h"

namespace {

// rows at a time; what `more` says comes last.
std::string schedule(const std::string &more = "") {
    return "return schedule 'soft_cap' { target = 'cpu', apply = function(k, p, target)\n"
           "  local lanes = target:lanes 'f32'\n"
           "  k.y:vectorize('col', lanes, 'guard')\n"
           "  k.weight:compute_at(k.y, 'row'):vectorize('col', lanes, 'guard')\n"
           "  k.row_sum:compute_at(k.y, 'row')\n"
           "  k.row_max:compute_at(k.y, 'row')\n"
           "  k.capped:compute_at(k.y, 'row'):vectorize('col', lanes, 'guard')\n" +
           more + "end }\n";
}

std::string written(const Folder &folder, const std::string &more = "") {
    const std::string file = folder / "soft_cap.lua";
    write_file(file, schedule(more));
    return file;
}

Arguments with_generator(Arguments arguments) {
    arguments.insert(arguments.end(), {"--generator", HALYARD_SOFT_CAP});
    return arguments;
}

std::string message(const Arguments &arguments, int exit_code) {
    const ProcessResult r = run(with_generator(arguments));
    INFO(r.out << r.err);
    CHECK(r.exit_code == exit_code);
    return r.err;
}

}  // namespace

TEST_CASE("bench of one's own generator: its estimates, or the sizes of its arrays", "[own]") {
    const Folder folder;
    const Arguments bench = {"bench", "soft_cap", "--schedule", written(folder), "--threads", "1", "--seconds", "0.02"};
    const auto records = run_json(with_generator(bench));
    REQUIRE(records.size() == 2);
    CHECK(records[0].at("op") == "soft_cap");
    CHECK(records[0].at("shape") == "cap=30,x=1024x128,y=1024x128");
    CHECK(records[0].at("type") == "f32");
    CHECK(records[0].at("floor_seconds").get<double>() > 0);

    Arguments sized = bench;
    sized.insert(sized.end(), {"--shape", "x=257x3,y=257x3,cap=5", "--schedule", "none"});
    const auto others = run_json(with_generator(sized));
    REQUIRE(others.size() == 4);
    CHECK(others[0].at("shape") == "cap=5,x=257x3,y=257x3");
    CHECK(others[0].at("schedule") == "soft_cap");
    CHECK(others[2].at("schedule") == "none");
}

TEST_CASE("an input that has no size gets the one that the kernel wants", "[own]") {
    const Folder folder;
    const auto records = run_json(
        with_generator({"bench", "soft_cap", "--schedule", written(folder), "--threads", "1", "--seconds", "0.01", "--shape", "y=64x3"}));
    CHECK(records.at(0).at("shape") == "cap=30,x=64x3,y=64x3");
}

TEST_CASE("explain, show and check take one's own generator", "[own]") {
    const Folder folder;
    const std::string file = written(folder);
    const auto j = run_json(with_generator({"explain", "soft_cap", "--schedule", file, "--shape", "x=512x16,y=512x16", "--count"}));
    const std::string text = j.dump();
    CHECK(contains(text, "x=512x16,y=512x16"));
    CHECK(contains(text, "row_max"));

    const ProcessResult shown = run(with_generator({"show", "soft_cap", "--schedule", file}));
    CHECK(shown.exit_code == 0);
    CHECK(contains(shown.out, "k.weight:compute_at(k.y, 'row')"));

    const ProcessResult checked = run(with_generator({"check", file}));
    INFO(checked.err);
    CHECK(checked.exit_code == 0);
    CHECK(contains(checked.out, ": ok"));
}

// The host asks before it calls a kernel, and would read an address of the device.
TEST_CASE("where rows of a result are may not hang on what is on a device", "[own]") {
    const Folder folder;
    const std::string file = folder / "placed_row.lua";
    write_file(file, "return schedule 'placed_row' { target = 'cuda', apply = function(k, p)\n"
                     "  k.y:gpu_blocks('row'):gpu_threads('col')\n"
                     "  k.y:update(0):gpu_blocks('col')\n"
                     "end }\n");
    const std::string text =
        message({"build", "placed_row", "--schedule", file, "--target", "cuda", "--devices", "emulator", "-o", folder / "out"}, 1);
    CHECK(contains(text, "y is asked for where place says"));
}

TEST_CASE("what is wrong with sizes is said", "[own]") {
    const Folder folder;
    const Arguments bench = {"bench", "soft_cap", "--schedule", written(folder), "--threads", "1", "--seconds", "0.01", "--shape"};
    const auto with = [&](const std::string &shape) {
        Arguments a = bench;
        a.push_back(shape);
        return message(a, 2);
    };
    CHECK(contains(with("xx=4x4,y=4x4"), "there is no argument \"xx\"; this kernel takes x=NxN,cap=N,y=NxN"));
    CHECK(contains(with("x=4x4,y=4"), "y has 2 dimension(s)"));
    CHECK(contains(with("x=4x4"), "lacks the output \"y\""));
    CHECK(contains(with("rows=a"), "is not of the form x=4096x64,y=4096x64,n=3"));
    CHECK(contains(message({"explain", "soft_cap"}, 2), "name a Lua file with --schedule"));
    CHECK(contains(message({"bench", "soft_cap", "--all-schedules"}, 2), "none does; name yours with --schedule"));

    Arguments larger = bench;
    larger.push_back("x=4x4,y=8x4");
    CHECK(contains(message(larger, 1), "say others with --shape"));
}

TEST_CASE("tanh and exp of one's own generator are vector code, but with k:libm()", "[own]") {
    const Folder folder;
    const auto assembly = [&](const std::string &more) {
        const ProcessResult r = run(with_generator({"build", "soft_cap", "--schedule", written(folder, more), "--target", "avx2", "--emit",
                                                    "assembly,c_header", "-o", folder / "out"}));
        INFO(r.err);
        REQUIRE(r.exit_code == 0);
        return read_file(folder / "out/soft_cap.s");
    };
    CHECK_FALSE(std::regex_search(assembly(""), std::regex("\\btanhf\\b")));
    CHECK(std::regex_search(assembly("  k:libm()\n"), std::regex("\\btanhf\\b")));
    CHECK(contains(message({"check", written(folder, "  k.libm()\n")}, 1), "write k:libm()"));
}

TEST_CASE("a schedule with k:libm() computes the same", "[own]") {
    const Folder folder;
    const auto records = run_json(with_generator({"bench", "soft_cap", "--schedule", written(folder, "  k:libm()\n"), "--threads", "1",
                                                  "--seconds", "0.01", "--shape", "x=100x7,y=100x7"}));
    CHECK(records.size() == 2);
}

TEST_CASE("explore describes one's own generator at the sizes of its arrays", "[own]") {
    const Folder folder;
    const auto guess = [&](const std::string &shape) {
        const ProcessResult r =
            run(with_generator({"explore", "soft_cap", "--shape", shape, "--threads", "1", "--guess", "--db", folder / "db"}));
        INFO(r.err);
        REQUIRE(r.exit_code == 0);
        return r.out;
    };
    const std::string small = guess("y=256x64"), large = guess("y=4096x1000,x=4096x1000");
    CHECK(contains(small, "return schedule \"soft_cap\""));
    CHECK(small != large);
    write_file(folder / "guess.lua", small);
    const auto records = run_json(with_generator(
        {"bench", "soft_cap", "--schedule", folder / "guess.lua", "--threads", "1", "--seconds", "0.01", "--shape", "x=256x64,y=256x64"}));
    CHECK(records.size() == 2);
}
