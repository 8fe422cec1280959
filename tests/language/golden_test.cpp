// The loop nests of the schedules in schedules/cpu, as `halyard show` prints them, one file a
// schedule and instruction set: golden/OP[.VARIANT].TARGET.txt. A change of a schedule, of a helper or
// of the engine that changes a nest shows as a difference here.

#include <catch2/catch.hpp>

#include <cstdlib>
#include <fstream>
#include <regex>

#include <nlohmann/json.hpp>

#include "language/script.h"
#include "support.h"

namespace {

const std::string kSchedules = HALYARD_SOURCE "/schedules/cpu/";
const std::string kGolden = HALYARD_SOURCE "/tests/language/golden/";

const std::pair<const char *, const char *> kTargets[] = {
    {"avx2", "x86-64-linux-avx-avx2-f16c-fma-no_runtime-sse41"},
    {"avx512", "x86-64-linux-avx-avx2-avx512-avx512_skylake-f16c-fma-no_runtime-sse41"},
};

std::vector<std::string> schedules() {
    std::vector<std::string> stems;
    for (const auto &name : files_in(kSchedules)) {
        if (name.size() > 4 && name.compare(name.size() - 4, 4, ".lua") == 0) {
            stems.push_back(name.substr(0, name.size() - 4));
        }
    }
    return stems;
}

std::vector<std::string> command(const std::string &stem, const std::string &target, const std::string &dir, const std::string &emit) {
    const std::string script = kSchedules + stem + ".lua";
    halyard::ScriptOptions options;
    options.target = target;
    const auto header = halyard::read_header(script, options);
    std::vector<std::string> argv = {
        HALYARD_GENERATORS, "-g", header.op, "-f", header.op, "-n", header.op, "-o", dir, "-e", emit, "-p", HALYARD_PLUGIN,
        "target=" + target};
    for (const auto &p : header.generator) {
        argv.push_back(p.first + "=" + p.second);
    }
    argv.insert(argv.end(), {"autoscheduler=Lua", "autoscheduler.script=" + script, "autoscheduler.report=" + dir + "/report.json"});
    return argv;
}

std::string nest(const std::string &stem, const std::string &target) {
    const TempDir dir;
    const Finished f = run_program(command(stem, target, dir.path(), "conceptual_stmt"));
    INFO(f.err);
    REQUIRE(f.exit_code == 0);
    const auto report = nlohmann::json::parse(read_file(dir.path() + "/report.json"));
    std::string text;
    for (const auto &line : report.at("nest")) {
        text += line.at("text").get<std::string>() + "\n";
    }
    // Names that Halide counts up while it builds a pipeline.
    return std::regex_replace(text, std::regex("\\b([rv])[0-9]+\\b"), "$1#");
}

// Halide puts the path of a header into its guard.
std::string output(const TempDir &dir, const std::string &stem, const std::string &ending) {
    return std::regex_replace(read_file(dir.path() + "/" + stem + ending), std::regex("HALIDE_\\w+_h\n"), "GUARD\n");
}

}  // namespace

TEST_CASE("the loop nests of the schedules", "[golden]") {
    const bool update = std::getenv("HALYARD_UPDATE_GOLDEN") != nullptr;
    std::vector<std::string> expected;
    for (const auto &stem : schedules()) {
        for (const auto &target : kTargets) {
            const std::string name = stem + "." + target.first + ".txt";
            expected.push_back(name);
#ifdef HALYARD_SANITIZED  // a few run through the same code of the language as all
            constexpr size_t kOneOf = 13;
            if (expected.size() % kOneOf != 0) {
                continue;
            }
#endif
            const std::string now = nest(stem, target.second);
            if (update) {
                std::ofstream(kGolden + name) << now;
            }
            INFO("tests/language/golden/" << name << "; if the change is meant: HALYARD_UPDATE_GOLDEN=1 engine_golden_test");
            CHECK(now == read_file(kGolden + name));
        }
    }
    std::sort(expected.begin(), expected.end());
    INFO("a golden file without its schedule is to be removed");
    CHECK(files_in(kGolden) == expected);
}

TEST_CASE("the same build twice gives the same bytes", "[golden]") {
    const std::string target = kTargets[0].second;
    for (const char *stem : {"rms_norm", "softmax"}) {
        const TempDir first, second;
        for (const auto *dir : {&first, &second}) {
            const Finished f = run_program(command(stem, target, dir->path(), "static_library,c_header,assembly"));
            INFO(f.err);
            REQUIRE(f.exit_code == 0);
        }
        for (const char *ending : {".a", ".h", ".s"}) {
            INFO(stem << ending);
            const std::string bytes = output(first, stem, ending);
            CHECK(bytes.size() > 100);
            CHECK((bytes == output(second, stem, ending)));
        }
    }
}

TEST_CASE("the report of a build for several targets is that of the first", "[golden]") {
    const TempDir dir;
    const std::string wide = kTargets[1].second, narrow = kTargets[0].second;
    const Finished f = run_program(command("rms_norm", wide + "," + narrow, dir.path(), "static_library"));
    INFO(f.err);
    REQUIRE(f.exit_code == 0);
    const auto report = nlohmann::json::parse(read_file(dir.path() + "/report.json"));
    CHECK(report.at("target") == wide);
    CHECK(report.at("ok") == true);
}
