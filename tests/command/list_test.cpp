// halyard list: everything that the registry and the folder of schedules have, and the page made from it.

#include <filesystem>
#include <regex>
#include <set>

#include <catch2/catch.hpp>

#include "support.h"

namespace {

namespace fs = std::filesystem;

// Read anew, so that a fault of the registry's reader is seen.
std::set<std::string> registered_ops() {
    const std::string registry = read_file(HALYARD_SOURCE "/generators/ops.inc");
    const std::regex line("\nHALYARD_OP\\((\\w+),");
    std::set<std::string> ops;
    for (std::sregex_iterator i(registry.begin(), registry.end(), line), end; i != end; ++i) {
        ops.insert((*i)[1]);
    }
    return ops;
}

std::set<std::string> schedule_files() {
    std::set<std::string> files;
    for (const std::string place : {"cpu", "cuda"}) {
        std::error_code none;
        for (const auto &entry : fs::directory_iterator(HALYARD_SOURCE "/schedules/" + place, none)) {
            if (entry.path().extension() == ".lua") {
                files.insert(place + "/" + entry.path().filename().string());
            }
        }
    }
    return files;
}

}  // namespace

TEST_CASE("Every op and every schedule is listed", "[list]") {
    const auto ops = registered_ops();
    const auto files = schedule_files();
    REQUIRE(ops.size() >= 5);
    REQUIRE(files.size() >= 10);

    std::set<std::string> listed_ops, listed_files;
    for (const auto &op : run_json({"list"})) {
        INFO(op.dump());
        listed_ops.insert(op.at("op").get<std::string>());
        CHECK(op.at("summary").get<std::string>().size() > 10);
        CHECK(contains(op.at("arguments"), "->"));
        CHECK(op.at("shapes").size() > 0);
        REQUIRE(op.at("schedules").size() > 0);
        CHECK(op.at("schedules")[0].at("name") == op.at("op"));  // the one that ships is the first
        for (const auto &s : op.at("schedules")) {
            const fs::path file = s.at("file").get<std::string>();
            CHECK(fs::exists(file));
            CHECK(s.at("target") == file.parent_path().filename().string());
            CHECK_FALSE(contains(s.at("summary"), "does not load"));
            CHECK(s.at("summary").get<std::string>().size() > 20);
            listed_files.insert(file.parent_path().filename().string() + "/" + file.filename().string());
        }
    }
    CHECK(listed_ops == ops);
    CHECK(listed_files == files);

    const ProcessResult text = run({"list"});
    CHECK(text.exit_code == 0);
    for (const auto &op : ops) {
        CHECK(contains("\n" + text.out, "\n" + op + "  "));
    }
    CHECK(halyard::split(text.out, '\n').size() == ops.size());
    const ProcessResult narrow = run({"list"}, {"COLUMNS=60"});
    for (const auto &line : halyard::split(narrow.out, '\n')) {
        CHECK(halyard::columns(line) <= (line[0] == '`' ? 80 : 60));
    }
    Arguments whole = {"list"};
    whole.insert(whole.end(), ops.begin(), ops.end());
    const std::string all = run(whole).out;
    for (const auto &file : files) {
        CHECK(std::regex_search(all, std::regex(" " + fs::path(file).stem().string() + "(  |\n)")));
    }
}

TEST_CASE("A named op has the parameters of its generator", "[list]") {
    const auto records = run_json({"list", "gemm", "gemm_int8"});
    REQUIRE(records.size() == 2);
    nlohmann::json gemm;
    for (const auto &p : records[0].at("params")) {
        gemm[p.at("name").get<std::string>()] = p;
    }
    CHECK(gemm.at("type").at("default") == "float32");
    CHECK(gemm.at("type").at("choices") == nlohmann::json({"float32", "float16", "bfloat16"}));
    CHECK(gemm.at("panel").at("default") == "64");
    CHECK(gemm.at("panel").at("choices").empty());
    CHECK(gemm.at("add_bias").at("choices") == nlohmann::json({"false", "true"}));
    CHECK(gemm.at("weights").at("default") == "kn");
    CHECK(gemm.at("weights").at("choices") == nlohmann::json({"kn", "nk", "packed"}));
    CHECK(gemm.count("target") == 0);  // Halide's own are none of ours

    const ProcessResult text = run({"list", "gemm_int8"});
    CHECK(text.exit_code == 0);
    CHECK(contains(text.out, "\n  a_type=uint8|int8\n"));
    CHECK(contains(text.out, "\n  activation=none|gelu_erf|gelu_tanh|"));
    CHECK(contains(text.out, " gemm_int8.unfused  "));

    const ProcessResult unknown = run({"list", "gem"});
    CHECK(unknown.exit_code == 2);
    CHECK(contains(unknown.err, "did you mean \"gemm\"?"));
}

TEST_CASE("docs/reference/ops.md is what the command makes", "[list]") {
    const ProcessResult r = run({"list", "--markdown"});
    REQUIRE(r.exit_code == 0);
    INFO("run: scripts/halyard list --markdown > docs/reference/ops.md");
    CHECK((read_file(HALYARD_SOURCE "/docs/reference/ops.md") == r.out));
}
