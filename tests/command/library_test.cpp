// halyard library: shared objects in the cache, made without a linker.

#include <filesystem>
#include <random>

#include <catch2/catch.hpp>
#include <HalideRuntime.h>
#include <dlfcn.h>

#include "kernel/shared_object.h"
#include "support.h"

namespace {

namespace fs = std::filesystem;

nlohmann::json library(const Folder &cache, Arguments arguments) {
    arguments.insert(arguments.begin(), "library");
    arguments.emplace_back("--json");
    const ProcessResult r = run(arguments, {"HALYARD_CACHE=" + cache.path()});
    INFO(r.err);
    REQUIRE(r.exit_code == 0);
    return nlohmann::json::parse(r.out);
}

void *open_library(const nlohmann::json &record) {
    static const std::string runtime =
        (fs::path(HALYARD_COMMAND).parent_path().parent_path() / "lib/halyard/libhalyard_runtime.so.0").string();
    REQUIRE(dlopen(runtime.c_str(), RTLD_NOW | RTLD_LOCAL));
    void *opened = dlopen(record.at("path").get<std::string>().c_str(), RTLD_NOW | RTLD_LOCAL);
    INFO((opened ? "" : dlerror()));
    REQUIRE(opened);
    return opened;
}

}  // namespace

TEST_CASE("a library is built once and computes", "[library]") {
    const Folder cache;
    const nlohmann::json record = library(cache, {"softmax", "--param", "scaled=true"});
    CHECK(record.at("function") == "softmax");
    CHECK(record.at("params").at("scaled") == "true");
    CHECK(record.at("params").at("type") == "float32");
    CHECK(contains(record.at("arguments"), "-> y[cols,rows]"));
    const std::string path = record.at("path");
    CHECK(contains(fs::path(path).extension().string(), ".so"));
    const auto time = fs::last_write_time(path);
    CHECK(library(cache, {"softmax", "--param", "scaled=true"}) == record);
    CHECK(fs::last_write_time(path) == time);
    CHECK(library(cache, {"softmax"}).at("path") != path);
    for (const auto &name : names_in(cache / "libraries")) {
        CHECK((contains(name, ".so") || contains(name, ".json")));
    }

    const auto softmax = reinterpret_cast<int (*)(halide_buffer_t *, float, halide_buffer_t *)>(dlsym(open_library(record), "softmax"));
    REQUIRE(softmax);
    std::vector<float> x(64, 3.0f), y(64);
    halide_dimension_t dims[2] = {{0, 32, 1}, {0, 2, 32}};
    halide_buffer_t in = {}, out = {};
    for (auto *b : {&in, &out}) {
        b->dim = dims;
        b->dimensions = 2;
        b->type = halide_type_t(halide_type_float, 32);
    }
    in.host = reinterpret_cast<uint8_t *>(x.data());
    out.host = reinterpret_cast<uint8_t *>(y.data());
    REQUIRE(softmax(&in, 1.0f, &out) == 0);
    CHECK(y[0] == Approx(1.0 / 32));
    CHECK(y[63] == Approx(1.0 / 32));
}

TEST_CASE("libraries of several targets and for devices are shared objects too", "[library]") {
    const Folder cache;
    for (const Arguments &arguments : {Arguments{"gemm", "--param", "type=bfloat16", "--target", "avx512_sapphirerapids,avx512,avx2"},
                                       Arguments{"softmax", "--target", "cuda", "--devices", "sm_80"}}) {
        const nlohmann::json record = library(cache, arguments);
        CHECK(dlsym(open_library(record), (arguments[0] + "_argv").c_str()));
        CHECK(dlsym(open_library(record), (arguments[0] + "_metadata").c_str()));
    }
}

TEST_CASE("what cannot run here is not built", "[library]") {
    const ProcessResult r = run({"library", "softmax", "--target", "x86-64-linux-avx10_1"});
    CHECK(r.exit_code != 0);
    CHECK(contains(run({"library", "softmax", "--schedule", "best"}).err, "give it with --shape"));
}

TEST_CASE("objects that anybody wrote are linked or refused", "[library]") {
    const Folder folder;
    REQUIRE(run({"build", "rms_norm", "--target", "avx2", "--emit", "static_library", "-o", folder.path()}).exit_code == 0);
    const std::string right = read_file(folder / "rms_norm.a");
    CHECK(halyard::shared_object(right, {"a.so"}) == halyard::shared_object(right, {"a.so"}));
    CHECK_THROWS_WITH(halyard::shared_object("", {}), "is not a static library");
    CHECK_THROWS_WITH(halyard::shared_object(right.substr(0, right.size() / 2), {}), Catch::Contains("cut short"));
    std::mt19937 random(1);
    for (int i = 0; i < 3000; i++) {
        std::string wrong = right;
        for (int changes = 0; changes < 3; changes++) {
            wrong[random() % wrong.size()] = char(random());
        }
        try {
            halyard::shared_object(wrong, {"a.so"});
        } catch (const std::runtime_error &) {
        }
    }
}
