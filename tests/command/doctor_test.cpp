// halyard doctor: a complete tree, and one with nothing in it.

#include <filesystem>

#include <catch2/catch.hpp>

#include "kernel/json_text.h"
#include "support.h"

namespace fs = std::filesystem;

TEST_CASE("A complete tree", "[doctor]") {
    const ProcessResult r = run({"doctor"});
    INFO(r.out);
    CHECK(r.exit_code == 0);
    CHECK(r.err == "");
    CHECK_FALSE(contains(r.out, "MISSING"));
    for (const std::string name : {"C++ compiler", "libHalide.so", "plugin", "generators", "runtime library", "schedules"}) {
        CHECK(contains(r.out, "ok       " + name));
    }

    const nlohmann::json report = run_json({"doctor"});
    CHECK(report.at("ok") == true);
    for (const std::string path : {"root", "plugin", "generators", "runtime", "schedules"}) {
        INFO(path);
        CHECK(fs::exists(report.at(path).get<std::string>()));
    }
    CHECK(halyard::ends_with(report.at("plugin"), "/libhalyard.so"));
    for (const auto &check : report.at("checks")) {
        INFO(check.dump());
        CHECK((check.at("ok") == true || check.at("needed") == false));
        CHECK(check.at("how").is_null() == check.at("ok").get<bool>());
    }
    CHECK(report.at("cpu").at("processors") >= 1);
}

TEST_CASE("A root with nothing in it", "[doctor]") {
    const Folder folder;
    const std::vector<std::string> environment = {"HALYARD_ROOT=" + (folder / "nowhere")};
    const ProcessResult r = run({"doctor"}, environment);
    INFO(r.out);
    CHECK(r.exit_code == 1);
    for (const std::string piece : {"lib/libhalyard.so", "bin/halyard-generators", "bin/halyard-heads", "lib/libhalyard_runtime.a"}) {
        CHECK(contains(r.out, "missing: " + (folder / "nowhere/") + piece));
    }
    CHECK(contains(r.out, "MISSING  schedules"));
    CHECK(contains(r.out, "pip install halide==21.0.0"));
    CHECK(contains(r.out, "reinstall Halyard, or name its prefix or build tree in HALYARD_ROOT"));

    const ProcessResult json = run({"doctor", "--json"}, environment);
    CHECK(json.exit_code == 1);
    const nlohmann::json report = halyard::parse_json(json.out);
    CHECK(report.at("ok") == false);
    for (const auto &check : report.at("checks")) {
        CHECK((check.at("ok") == true || check.at("how").get<std::string>().size() > 10));
    }

    // The other subcommands say it too.
    const ProcessResult build = run({"build", "rms_norm", "-o", folder / "out"}, environment);
    CHECK(build.exit_code == 1);
    CHECK(contains(build.err, "bin/halyard-generators: error: the generator of every op is missing"));
    CHECK(contains(build.err, "HALYARD_ROOT"));
}

TEST_CASE("A tree that lacks one piece", "[doctor]") {
    const Folder folder;
    const std::string root = run_json({"doctor"}).at("root");
    fs::create_directories(folder / "bin");
    fs::create_symlink(root + "/bin/halyard-generators", folder / "bin/halyard-generators");
    const ProcessResult r = run({"doctor"}, {"HALYARD_ROOT=" + folder.path()});
    CHECK(r.exit_code == 1);
    CHECK(contains(r.out, "ok       generators"));
    CHECK(contains(r.out, "MISSING  plugin"));
}

TEST_CASE("A compiler that is not there", "[doctor]") {
    const ProcessResult r = run({"doctor"}, {"CXX=/nowhere/c++"});
    CHECK(r.exit_code == 1);
    CHECK(contains(r.out, "MISSING  C++ compiler"));
    CHECK(contains(r.out, "apt install g++"));
}
