// Every script in errors/ is wrong in one way. Its first lines say what a user reads then:
//
//   -- expect: 7: split: ...       the line of the script, and the message
//   -- expect+ ...                 the following lines of the message
//
// HALYARD_UPDATE_GOLDEN=1 writes the messages of now into the scripts.

#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

#include "small_pipeline.h"
#include "support.h"

namespace {

const std::string kDir = HALYARD_SOURCE "/tests/language/errors/";

struct ErrorScript {
    std::string expected, code;
};

ErrorScript read_script(const std::string &path) {
    ErrorScript s;
    std::istringstream in(read_file(path));
    for (std::string line; std::getline(in, line);) {
        if (line.rfind("-- expect: ", 0) == 0) {
            s.expected = line.substr(11);
        } else if (line.rfind("-- expect+ ", 0) == 0) {
            s.expected += "\n" + line.substr(11);
        } else {
            s.code += line + "\n";
        }
    }
    return s;
}

std::string with_expectation(const std::string &message, const std::string &code) {
    std::istringstream in(message);
    std::string text, prefix = "-- expect: ";
    for (std::string line; std::getline(in, line); prefix = "-- expect+ ") {
        text += prefix + line + "\n";
    }
    return text + code;
}

// The message without the folder and the name; lines count from the code on.
std::string relative(std::string message, const std::string &path) {
    const std::string start = path + ":";
    for (size_t at = message.find(start); at != std::string::npos; at = message.find(start)) {
        message.erase(at, start.size());
    }
    // Names that Halide counts up in a process.
    return std::regex_replace(message, std::regex("\\b([rv])[0-9]+\\b"), "$1#");
}

}  // namespace

TEST_CASE("wrong scripts give the messages that stand in them", "[errors]") {
    const TempDir dir;
    const bool update = std::getenv("HALYARD_UPDATE_GOLDEN") != nullptr;
    const std::vector<std::string> files = files_in(kDir);
    REQUIRE(files.size() > 100);  // they were found
    for (const auto &name : files) {
        INFO("tests/language/errors/" << name << "; HALYARD_UPDATE_GOLDEN=1 engine_plugin_test \"[errors]\" updates it");
        const ErrorScript script = read_script(kDir + name);
        const std::string path = dir.write(name, script.code);
        const std::string message = relative(schedule_small_pipeline(path), path);
        if (update) {
            std::ofstream(kDir + name) << with_expectation(message, script.code);
            continue;
        }
        CHECK(message == script.expected);
        CHECK(!script.expected.empty());
    }
}

TEST_CASE("a script that is right passes", "[errors]") {
    const TempDir dir;
    CHECK(schedule_small_pipeline(dir.write("good.lua", R"(
return schedule "small" {
  apply = function(k, p, target)
    local lanes = target:lanes "f32"
    k.y:vectorize("col", lanes):parallel("row", 4)
    k.sum:compute_root()
    k.hist:compute_root():update(0):reorder("box_y", "box_x")
    k.g:compute_at(k.y, "row"):store_in "stack":vectorize("col", lanes)
  end,
})")) == "");
    // Loops by place, Funcs by what they read, and names that are free again for what becomes of a loop.
    CHECK(schedule_small_pipeline(dir.write("places.lua", R"(
return schedule "small" {
  apply = function(k, p, target)
    k:reader_of(k.x):compute_root():tile({ "col", "row" }, { 8, 4 }, "auto", { "cols", "rows" }, { "col", "row" })
    k.f:vectorize "col"
    k:reader_of(k.f, 1):compute_root():update(0):reduction(0):unroll(2)
    k.hist:compute_root():update(0):reduction(0):unroll(4)
    k.hist:update(0):reorder("box_x", "box_y"):partition("box_x", "never")
  end,
})")) == "");
    // In one process after errors, too.
    CHECK(schedule_small_pipeline(dir.write("bad.lua", "return schedule 'small' { apply = function(k) k.z() end }")) != "");
    CHECK(schedule_small_pipeline(dir.write("good.lua", "return schedule 'small' { apply = function(k) end }")) == "");
}
