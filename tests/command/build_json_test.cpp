// halyard build --json: what was built, and what was not; and what a person is told of it without.

#include <filesystem>

#include <catch2/catch.hpp>

#include "kernel/json_text.h"
#include "support.h"

namespace fs = std::filesystem;

TEST_CASE("The record of a library", "[build_json]") {
    const Folder folder;
    const auto j = run_json(
        {"build", "rms_norm", "--name", "norm", "--target", "avx2", "--set", "rows=4", "--param", "type=float16", "-o", folder / "out"});
    CHECK(j.at("ok") == true);
    CHECK(j.at("op") == "rms_norm");
    CHECK(j.at("function") == "norm");
    CHECK(j.at("files") == nlohmann::json({folder / "out/norm.a", folder / "out/norm.h"}));
    for (const auto &file : j.at("files")) {
        CHECK(fs::exists(file.get<std::string>()));
    }
    REQUIRE(j.at("targets").size() == 1);
    CHECK(contains(j.at("targets")[0], "-avx2"));
    CHECK(j.at("devices").empty());
    CHECK(j.at("params").at("type") == "float16");
    CHECK(j.at("params").at("scaling") == "tensor");  // by default
    CHECK(j.at("set").at("rows") == "4");
    CHECK(j.at("set").count("accum") == 1);  // by default
    CHECK(halyard::ends_with(j.at("schedule"), "/cpu/rms_norm.lua"));
    CHECK(j.at("generator").is_null());
    CHECK(j.at("notes").empty());
    CHECK(j.at("seconds").get<double>() > 0);
    std::vector<std::string> names;
    for (const auto &a : j.at("arguments")) {
        names.push_back(a.at("name"));
    }
    CHECK(names == std::vector<std::string>{"x", "weight", "eps", "y"});  // those of the function, in its order
    CHECK(j.at("arguments")[0].at("type") == "float16");
    CHECK(j.at("arguments")[0].at("strides") == nlohmann::json({1, nullptr}));
    CHECK(j.at("arguments")[2].at("array") == false);
    CHECK(j.at("arguments")[3].at("output") == true);
}

TEST_CASE("Standard output is the record alone, and errors are records", "[build_json]") {
    const Folder folder;
    const ProcessResult r =
        run({"build", "rms_norm", "--json", "--schedule", write_wrong_schedule(folder / "wrong.lua"), "-o", folder / "out"});
    CHECK(r.exit_code == 1);
    CHECK(r.err == "");
    const auto j = halyard::parse_json(r.out);
    CHECK(j.at("ok") == false);
    CHECK(j.at("error").at("line") == 8);
    CHECK(contains(j.at("error").at("text"), "wrong.lua:8: error: "));
    CHECK(contains(j.at("error").at("hint"), "did you mean \"inv_rms\"?"));

    CHECK(contains(run_json({"build", "rms_nrom"}, 2).at("error").at("text"), "did you mean \"rms_norm\"?"));
    CHECK(contains(run_json({"build", "rms_norm", "--schedule", folder / "nowhere.lua"}, 1).at("error").at("text"), "no such file"));
    // What cannot be read as a command line is for a person.
    const ProcessResult usage = run({"build", "rms_norm", "--json", "--ouptut", "x"});
    CHECK(usage.exit_code == 2);
    CHECK(usage.out == "");
    CHECK(contains(usage.err, "did you mean \"--output\"?"));
}

TEST_CASE("A target without bfloat16 is no warning for ops of the registry", "[build_json]") {
    const Folder folder;
    const ProcessResult r = run({"build", "softmax", "--param", "type=bfloat16", "-o", folder / "out"});
    CHECK(r.exit_code == 0);
    CHECK(r.err == "");
    // Of a generator of somebody else's it is one line, whatever the number of its tasks and targets.
    fs::create_symlink(HALYARD_GENERATORS, folder / "of_a_user");
    const ProcessResult own =
        run({"build", "softmax", "--param", "type=bfloat16", "--generator", folder / "of_a_user", "-o", folder / "own"});
    CHECK(own.exit_code == 0);
    CHECK(halyard::split(own.err, '\n').size() == 1);
    CHECK(contains(own.err, "note: softmax: a target here has no instructions for 16-bit floats"));
}

TEST_CASE("A library that Halide makes alone says so in a line", "[build_json]") {
    const Folder folder;
    const Arguments none = {"build", "rms_norm", "--schedule", "none", "--target", "avx2", "-o", folder / "out"};
    const ProcessResult r = run(none);
    CHECK(r.exit_code == 0);
    CHECK(contains(r.err, "note: rms_norm: made by Halide alone"));
    CHECK(halyard::split(r.err, '\n').size() == 1);
    CHECK(run({"build", "rms_norm", "--target", "avx2", "-o", folder / "out"}).err == "");
    const auto j = run_json(none);
    CHECK(j.at("schedule").is_null());
    REQUIRE(j.at("notes").size() == 1);
    CHECK(contains(j.at("notes")[0], "null dimensions"));
}

TEST_CASE("Inputs that no other kernel writes", "[build_json]") {
    const Folder folder;
    const auto build = [&](const std::string &constant, int code) {
        return run_json({"build", "rms_norm", "--target", "cuda", "--devices", "emulator", "--constant", constant, "-o", folder / "out"},
                        code);
    };
    const auto j = build("weight", 0);
    CHECK(j.at("arguments")[0].at("constant") == false);
    CHECK(j.at("arguments")[1].at("constant") == true);
    CHECK(contains(read_file(folder / "out/rms_norm.h"), " * No kernel that may still run when this is called writes weight: "));
    CHECK(contains(build("wieght", 1).at("error").at("text"), "--constant: there is no input \"wieght\"; there are "));
    CHECK(contains(build("y", 1).at("error").at("text"), "--constant: there is no input \"y\""));
}
