// halyard bench: the records, and that their numbers can be.

#include <filesystem>
#include <regex>
#include <set>

#include <catch2/catch.hpp>

#include "support.h"

namespace {

std::set<std::string> keys(const nlohmann::json &object) {
    std::set<std::string> names;
    for (const auto &item : object.items()) {
        names.insert(item.key());
    }
    return names;
}

}  // namespace

TEST_CASE("Records of two schedules, two sizes, warm and cold", "[bench]") {
    // The cache of the build tree has the machine's peaks; kernels are built where they are not there. The sizes are well
    // inside of a cache: what is a little larger than one is still faster than the copy that fills the next.
    const nlohmann::json records = run_json({"bench", "rms_norm", "--schedule", "rms_norm", "--schedule", "unfused", "--shape",
                                             "rows=7,cols=129", "--shape", "cols=4096,rows=8", "--threads", "1", "--seconds", "0.05"});
    REQUIRE(records.size() == 8);
    std::set<std::string> seen;
    for (const auto &r : records) {
        INFO(r.dump());
        CHECK(keys(r) == std::set<std::string>{"op", "shape", "type", "target", "schedule", "threads", "seconds", "floor_seconds",
                                               "roof_fraction", "peer", "peer_seconds", "ratio", "cache", "middle_half", "samples", "times",
                                               "tie", "noise", "busy"});
        CHECK(r.at("middle_half")[0] <= r.at("seconds"));
        CHECK(r.at("seconds") <= r.at("middle_half")[1]);
        CHECK(r.at("samples") >= 9);
        CHECK(r.at("noise") > 0);  // both took turns with the first beside itself
        CHECK((r.at("schedule") != "rms_norm" || r.at("times") == 1));
        CHECK(r.at("op") == "rms_norm");
        CHECK(r.at("type") == "f32");
        CHECK(halyard::starts_with(r.at("target"), "x86-64-linux-"));
        CHECK(r.at("threads") == 1);
        CHECK(r.at("peer").is_null());
        CHECK(r.at("peer_seconds").is_null());
        CHECK(r.at("ratio").is_null());
        const double seconds = r.at("seconds"), floor = r.at("floor_seconds");
        CHECK(seconds > 1e-8);  // 7 rows of 129 in 10 ns would be 700 GB/s
        CHECK(seconds < 1);
        CHECK(floor > 0);
        // The roof is measured, on a machine that does other things too.
        CHECK(floor <= 1.5 * seconds);
        CHECK(r.at("roof_fraction").get<double>() == Approx(floor / seconds));
        seen.insert(r.at("schedule").get<std::string>() + " " + r.at("shape").get<std::string>() + " " + r.at("cache").get<std::string>());
    }
    CHECK(seen.size() == 8);
    CHECK(seen.count("rms_norm.unfused rows=8,cols=4096 cold") == 1);  // dimensions in the registry's order
    CHECK(seen.count("rms_norm rows=7,cols=129 warm") == 1);
}

TEST_CASE("A schedule ties with its own copy, in words, and a slow one does not", "[bench]") {
    const Folder folder;
    const std::string copy = folder / "copy.lua", slow = write_schedule(folder / "mine.lua");
    write_file(copy, read_file(HALYARD_SOURCE "/schedules/cpu/rms_norm.lua"));
    const ProcessResult r = run({"bench", "rms_norm", "--schedule", "rms_norm", "--schedule", copy, "--schedule", slow, "--shape",
                                 "rows=16,cols=1024", "--threads", "1", "--seconds", "0.1"});
    INFO(r.out << r.err);
    REQUIRE(r.ok());
    // Where the same code lies in memory makes a hundredth or two, which a quiet machine tells apart.
    CHECK(std::regex_search(
        r.out,
        std::regex(
            "1 thread, warm: (a tie between rms_norm and copy|(rms_norm|copy) is 1\\.0[0-9] times as fast as (rms_norm|copy)) \\(")));
    CHECK(contains(r.out, "1 thread, warm: rms_norm is "));
    CHECK(contains(r.out, " times as fast as mine ("));
    CHECK(contains(r.out, "noise: by how much the first schedule differed from itself"));
}

TEST_CASE("A kernel is built into an empty cache and taken from it", "[bench]") {
    const Folder folder;
    const Arguments arguments = {"bench", "rms_norm", "--shape", "rows=3,cols=17", "--threads", "1", "--seconds", "0.01"};
    const std::vector<std::string> cache = {"HALYARD_CACHE=" + (folder / "cache")};
    const ProcessResult first = run(arguments, cache);
    INFO(first.err);
    REQUIRE(first.exit_code == 0);
    CHECK(first.err == "");
    CHECK(contains(line_of(first.out, 1), "% of roof"));
    CHECK(contains(line_of(first.out, 2), "rows=3,cols=17"));
    const auto kernels = names_in(folder / "cache/kernels");
    REQUIRE(kernels.size() == 2);  // and its seals
    const auto time = std::filesystem::last_write_time(folder / "cache/kernels/" + kernels[0]);
    CHECK(run(arguments, cache).exit_code == 0);
    CHECK(names_in(folder / "cache/kernels") == kernels);
    CHECK(std::filesystem::last_write_time(folder / "cache/kernels/" + kernels[0]) == time);
}

TEST_CASE("A wrong schedule or size ends before anything is timed", "[bench]") {
    const Folder folder;
    const std::string script = write_wrong_schedule(folder / "wrong.lua");
    const ProcessResult wrong = run({"bench", "rms_norm", "--schedule", script});
    CHECK(wrong.exit_code == 1);
    CHECK(wrong.out == "");
    CHECK(halyard::starts_with(wrong.err, script + ":8: error: "));

    const ProcessResult unknown = run({"bench", "rms_norm", "--shape", "rows=3,columns=2"});
    CHECK(unknown.exit_code == 2);
    CHECK(unknown.out == "");
    CHECK(contains(unknown.err, "rms_norm has no dimension \"columns\"; it has \"rows\", \"cols\""));
}
