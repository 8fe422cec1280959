// halyard library: shared objects in the cache, made without a linker.

#include <filesystem>
#include <functional>
#include <random>

#include <catch2/catch.hpp>
#include <HalideRuntime.h>
#include <dlfcn.h>
#include <sys/stat.h>

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

namespace {

// What may become of a file of the cache.
std::vector<std::pair<std::string, std::function<void(const std::string &)>>> damages() {
    const auto with = [](const std::function<void(std::string &)> &change) {
        return [change](const std::string &path) {
            std::string bytes = read_file(path);
            change(bytes);
            fs::remove(path);
            write_file(path, bytes);
        };
    };
    return {{"missing", [](const std::string &path) { fs::remove(path); }},
            {"empty", with([](std::string &bytes) { bytes.clear(); })},
            {"cut", with([](std::string &bytes) { bytes.pop_back(); })},
            {"a half", with([](std::string &bytes) { bytes.resize(bytes.size() / 2); })},
            {"longer", with([](std::string &bytes) { bytes += " "; })},
            {"changed", with([](std::string &bytes) { bytes[bytes.size() / 3] ^= 1; })},
            {"of something else", with([](std::string &bytes) { bytes = "{}"; })},
            {"a folder",
             [](const std::string &path) {
                 fs::remove(path);
                 fs::create_directories(path + "/full");
             }},
            {"a pipe",
             [](const std::string &path) {
                 fs::remove(path);
                 REQUIRE(mkfifo(path.c_str(), 0600) == 0);
             }},
            {"a link to nothing", [](const std::string &path) {
                 fs::remove(path);
                 fs::create_symlink("/nonexistent", path);
             }}};
}

}  // namespace

TEST_CASE("a library that was damaged in the cache, or its record, is made anew", "[library]") {
    const Folder cache;
    const nlohmann::json record = library(cache, {"bias_activation"});
    const std::string path = record.at("path"), record_path = fs::path(path).replace_extension(".json").string();
    const std::string bytes = read_file(path), record_bytes = read_file(record_path);
    for (const auto &damage : damages()) {
        for (const auto &file : {path, record_path}) {
            INFO(file + " is " + damage.first);
            damage.second(file);
            const ProcessResult r = run_shell("HALYARD_CACHE=" + cache.path() + " timeout 60 $halyard library bias_activation --json");
            INFO(r.err);
            REQUIRE(r.exit_code == 0);
            CHECK(nlohmann::json::parse(r.out) == record);
            REQUIRE(fs::is_regular_file(fs::symlink_status(path)));
            CHECK(read_file(path) == bytes);
            CHECK(nlohmann::json::parse(read_file(record_path)) == nlohmann::json::parse(record_bytes));
        }
    }
    // A record that is right in itself, of another function.
    std::string other = record_bytes;
    const std::string name = "\"function\":\"bias_activation\"";
    REQUIRE(contains(other, name));
    other.replace(other.find(name), name.size(), "\"function\":\"bias_activatiom\"");
    write_file(record_path, other);
    CHECK(library(cache, {"bias_activation"}) == record);
}

TEST_CASE("a kernel that was damaged in the cache is made anew", "[library]") {
    const Folder cache;
    const auto bench = [&] {
        return run_shell("HALYARD_CACHE=" + cache.path() + " timeout 60 $halyard bench rms_norm --shape rows=3,cols=16 --seconds 0.01");
    };
    REQUIRE(bench().exit_code == 0);
    const std::string kernels = cache / "kernels";
    std::string path;
    for (const auto &name : names_in(kernels)) {
        path = halyard::ends_with(name, ".so") ? kernels + "/" + name : path;
    }
    const std::string bytes = read_file(path);
    for (const auto &damage : damages()) {
        for (const auto &file : {path, path + ".seals"}) {
            INFO(file + " is " + damage.first);
            damage.second(file);
            const ProcessResult r = bench();
            INFO(r.err);
            CHECK(r.exit_code == 0);
            REQUIRE(fs::is_regular_file(fs::symlink_status(path)));
            CHECK(read_file(path) == bytes);
        }
    }
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
