// A picture of each pass over block programs: passes/PASS.txt has a program before it and after it. The first pass makes the program of the
// loops of a kernel: of it there is what it makes.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include <catch2/catch.hpp>

#include "kernel/kernel.h"
#include "tests/language/support.h"

namespace {

using namespace halyard;

struct Shown {
    const char *pass, *schedule;
};

// In their order, each with a pipeline that it changes.
const std::vector<Shown> kShown = {{"form_tiles", "two_sums"},
                                   {"hoist_conditions", "gathered_gates"},
                                   {"join_loops", "gathered_gates"},
                                   {"add_to_accumulators", "back_to_back"},
                                   {"begin_with_products", "block_scaled"},
                                   {"swap_sides", "weights_8"},
                                   {"load_rows_early", "block_scaled"},
                                   {"load_numbers_once", "gathered_gates"}};

std::string program_after(const std::string &pass, const std::string &schedule, std::vector<std::string> &names) {
    const TempDir folder;
    GenerateRequest request;
    request.op = schedule;
    request.generator = HALYARD_TILE_PIPELINES;
    request.schedule = HALYARD_TILE_SCHEDULES "/" + schedule + (schedule == "back_to_back" ? ".deep" : "") + ".lua";
    request.target = "cuda";
    request.devices = "emulator";
    request.emit = {"c_header"};
    request.passes = true;
    request.after = pass;
    const Generated result = generate(make_plan(request), folder.path());
    INFO(result.error);
    REQUIRE(result.ok);
    std::string after;
    names.clear();
    for (const auto &run : result.report.at("passes")) {
        if (run.at("form") == "tiles") {
            names.push_back(run.at("pass"));
            after += run.value("after", "");
        }
    }
    return after;
}

}  // namespace

TEST_CASE("passes over block programs", "[passes]") {
    for (size_t i = 0; i < kShown.size(); i++) {
        const Shown &shown = kShown[i];
        INFO(shown.pass);
        std::vector<std::string> names;
        const std::string after = program_after(shown.pass, shown.schedule, names);
        REQUIRE(names.size() == kShown.size());
        CHECK(names[i] == shown.pass);
        const std::string before = i == 0 ? "" : program_after(kShown[i - 1].pass, shown.schedule, names);
        CHECK(before != after);
        const std::string file = HALYARD_TILE_SCHEDULES "/passes/" + std::string(shown.pass) + ".txt",
                          text = (i == 0 ? "" : "# Before\n\n" + before + "\n") + "# After\n\n" + after,
                          picture = counted_anew(std::regex_replace(text, std::regex("\\$[a-z0-9]+"), ""));
        if (std::getenv("HALYARD_UPDATE_GOLDEN")) {
            std::filesystem::create_directories(HALYARD_TILE_SCHEDULES "/passes");
            std::ofstream(file) << picture;
        }
        INFO("tests/tiles/passes/" << shown.pass << ".txt; if the change is meant: HALYARD_UPDATE_GOLDEN=1 tiles_test \"[passes]\"");
        CHECK(picture == read_file(file));
    }
}
