// The plugin schedules any generator: one with Halide's stock main, through its stock command line.

#include <catch2/catch.hpp>

#include <HalideBuffer.h>

#include <algorithm>
#include <map>
#include <vector>

#include "blur_histogram.h"
#include "tests/language/support.h"

namespace {

std::vector<std::string> build(const std::string &dir, const std::string &script) {
    return {HALYARD_BLUR_GENERATOR,
            "-g",
            "blur_histogram",
            "-f",
            "blur_histogram",
            "-n",
            "out",
            "-o",
            dir,
            "-e",
            "static_library,c_header",
            "-p",
            HALYARD_PLUGIN,
            "target=x86-64-linux-avx2-fma",
            "autoscheduler=Lua",
            "autoscheduler.script=" + script};
}

size_t count(const std::string &text, const std::string &what) {
    size_t n = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
        n++;
    }
    return n;
}

}  // namespace

TEST_CASE("a stock generator scheduled by a script computes what it should", "[plugin]") {
    for (const auto &[width, height] : {std::pair(64, 48), std::pair(1, 1), std::pair(131, 17), std::pair(15, 33)}) {
        Halide::Runtime::Buffer<uint8_t, 2> input(width, height), blurred(width, height);
        Halide::Runtime::Buffer<uint32_t, 1> histogram(256);
        uint32_t state = 1;
        input.for_each_value([&](uint8_t &v) {
            state = state * 1664525u + 1013904223u;
            v = uint8_t(state >> 24);
        });
        REQUIRE(blur_histogram(input, blurred, histogram) == 0);

        std::vector<uint32_t> expected(256);
        for (int y = 0; y < height; y++) {
            for (int x = 0; x < width; x++) {
                int sum = 0;
                for (int dy = -1; dy <= 1; dy++) {
                    for (int dx = -1; dx <= 1; dx++) {
                        sum += input(std::clamp(x + dx, 0, width - 1), std::clamp(y + dy, 0, height - 1));
                    }
                }
                expected[size_t(sum / 9)]++;
                if (blurred(x, y) != sum / 9) {
                    FAIL("at " << x << ", " << y << " of " << width << " x " << height);
                }
            }
        }
        for (int bin = 0; bin < 256; bin++) {
            CHECK(histogram(bin) == expected[size_t(bin)]);
        }
    }
}

TEST_CASE("a wrong script ends the build with one message and no files", "[plugin]") {
    const TempDir dir;
    const std::string script = HALYARD_PLUGIN_TESTS "/misspelt.lua";
    const Finished f = run_program(build(dir.path(), script));
    INFO(f.err);
    CHECK(f.exit_code == 255);  // of the stock main; a signal would be 128 + n
    CHECK(f.err.find(script + ":17: error: there is no Func \"blurx\" in this algorithm; there are ") != std::string::npos);
    CHECK(f.err.find("\n  did you mean \"blur_x\"?") != std::string::npos);
    CHECK(count(f.err, "error: ") == 1);
    CHECK(files_in(dir.path()).empty());
}

TEST_CASE("an error that Halide finds later ends the build likewise", "[plugin]") {
    const TempDir dir, out;
    const std::string script = dir.write("late.lua", "return schedule \"blur_histogram\" { apply = function(k)\n"
                                                     "  k.blurred:unroll(\"y\")\nend }\n");
    const Finished f = run_program(build(out.path(), script));
    INFO(f.err);
    CHECK(f.exit_code == 255);  // of the stock main; a signal would be 128 + n
    CHECK(f.err.find(script + ":2: error: unroll: how often \"y\" of blurred turns is not known before a call") != std::string::npos);
    CHECK(count(f.err, "error: ") == 1);
    CHECK(files_in(out.path()).empty());
}

TEST_CASE("an error that has to do with no Func is at no line", "[plugin]") {
    const TempDir out;
    auto argv = build(out.path(), HALYARD_PLUGIN_TESTS "/blur_histogram.lua");
    std::replace(argv.begin(), argv.end(), std::string("static_library,c_header"), std::string("pytorch_wrapper"));
    std::replace(argv.begin(), argv.end(), std::string("target=x86-64-linux-avx2-fma"), std::string("target=x86-64-linux-avx2-fma-cuda"));
    const Finished f = run_program(argv);
    INFO(f.err);
    CHECK(f.exit_code != 0);
    CHECK(f.err.find("blur_histogram.lua: error: Compile a PyTorch wrapper for a CUDA op") != std::string::npos);
}

TEST_CASE("wrong parameters of the plugin are named", "[plugin]") {
    const TempDir dir;
    const std::string script = HALYARD_PLUGIN_TESTS "/blur_histogram.lua";
    const std::map<std::string, std::string> cases = {
        {"autoscheduler.set=rows:5", "--set rows=5 is not among its choices \"4\", \"8\", \"16\""},
        {"autoscheduler.set=row:8", "did you mean \"rows\"?"},
        {"autoscheduler.set=rows", "\"rows\" is not of the form name=value"},
        {"autoscheduler.facts=l9:1M", "there is no fact \"l9\""},
        {"autoscheduler.reprot=x", "did you mean \"report\"?"},
    };
    for (const auto &c : cases) {
        auto argv = build(dir.path(), script);
        argv.push_back(c.first);
        const Finished f = run_program(argv);
        INFO(c.first << "\n" << f.err);
        CHECK(f.exit_code != 0);
        CHECK(f.err.find(c.second) != std::string::npos);
        CHECK(count(f.err, "error: ") == 1);
        CHECK(files_in(dir.path()).empty());
    }
    auto argv = build(dir.path(), dir.path() + "/missing.lua");
    CHECK(run_program(argv).err.find("missing.lua: error: cannot be read: No such file or directory") != std::string::npos);
    argv.pop_back();
    CHECK(run_program(argv).err.find("autoscheduler.script=FILE.lua is missing") != std::string::npos);
}

TEST_CASE("a word that needs halyard build is without effect in a stock build, and a note says so", "[plugin]") {
    const TempDir dir;
    const std::string script = dir.write("stream.lua", "return schedule 'blur_histogram' {\n"
                                                       "  apply = function(k) k.blurred:stream(0) end,\n"
                                                       "}\n");
    const Finished f = run_program(build(dir.path(), script), 120);
    INFO(f.err);
    CHECK(f.exit_code == 0);
    CHECK(count(f.err, "the word stream has no effect without `halyard build`") == 1);
    const Finished symbols = run_program({HALYARD_NM, dir.path() + "/out.a"});
    CHECK(count(symbols.out, "halyard_") == 0);
}
