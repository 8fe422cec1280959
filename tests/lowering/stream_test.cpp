// The word stream: the same results as without, wherever rows lie, and non-temporal stores in the code.

#include <catch2/catch.hpp>

#include <cmath>
#include <iostream>

#include "kernel/kernel.h"
#include "tests/language/support.h"

using namespace halyard;

namespace {

std::string script(const std::string &stream) {
    return "local reduce = require 'lib.reduce'\n"
           "return schedule 'rms_norm' { target = 'cpu', apply = function(k, p, target)\n"
           "  local task, row = k.y:split('row', 4, 'guard')\n"
           "  task:parallel()\n"
           "  k.y:vectorize('col', target:lanes 'f32', 'guard')\n" +
           stream +
           "\n"
           "  k.inv_rms:compute_at(row)\n"
           "  reduce.in_lanes(k.sum_sq, 'col', { at = row, lanes = 8, accum = 2 })\n"
           "end }\n";
}

const char *const kStream = "  k.y:stream(0)";

GenerateRequest request(const std::string &schedule, const std::string &type, const std::string &target) {
    GenerateRequest r;
    r.op = "rms_norm";
    r.schedule = schedule;
    r.target = target;
    r.params["type"] = type;
    return r;
}

size_t count(const std::string &text, const std::string &what) {
    size_t n = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
        n++;
    }
    return n;
}

Finished build(const TempDir &dir, std::vector<std::string> more) {
    more.insert(more.begin(), {HALYARD_COMMAND, "build", "rms_norm", "--quiet", "-o", dir.path() + "/out"});
    return run_program(more);
}

}  // namespace

TEST_CASE("streamed rows hold what rows stored as usual hold", "[stream]") {
    const TempDir dir;
    const std::string streamed = dir.write("streamed.lua", script(kStream));
    const std::string usual = dir.write("usual.lua", script(""));
    for (const std::string target : {"avx512", "avx2"}) {
        if (!(target == "avx2" ? __builtin_cpu_supports("avx2") : __builtin_cpu_supports("avx512bw"))) {
            std::cout << "skipped: this processor lacks " << target << "\n";
            continue;
        }
        for (const std::string type : {"float32", "float16", "bfloat16"}) {
            const CompiledKernel with = CompiledKernel::build(request(streamed, type, target));
            const CompiledKernel without = CompiledKernel::build(request(usual, type, target));
            struct Place {
                int cols, stride, offset;  // of the output, in elements
            };
            for (const Place &p : {Place{256, 256, 0},
                                   {256, 256, 8},
                                   {256, 256, 4},
                                   {256, 272, 1},
                                   {251, 251, 0},
                                   {251, 253, 3},
                                   {65, 67, 5},
                                   {16, 16, 0},
                                   {3, 5, 1},
                                   {1, 1, 0}}) {
                INFO(type << " " << target << ", " << p.cols << " columns, stride " << p.stride << ", offset " << p.offset);
                std::vector<double> results[2];
                for (int i = 0; i < 2; i++) {
                    const CompiledKernel &kernel = i ? without : with;
                    KernelArguments a(kernel);
                    a.buffer("x", {{p.cols, 9}}).fill_random(1);
                    a.buffer("weight", {{p.cols}}).fill_random(2);
                    a.scalar("eps", 1e-6);
                    Layout layout({p.cols, 9});
                    layout.strides = {1, p.stride};
                    layout.offset = p.offset;
                    HostBuffer &y = a.buffer("y", layout);
                    const CallResult r = kernel.call(a);
                    INFO(r.message);
                    REQUIRE(r.ok());
                    CHECK(y.surroundings_intact());
                    results[i] = y.values();
                }
                // Fast-math leaves LLVM some freedom: a rounding or two of f32, and one to the type.
                const double units = (type == "float32" ? 2 * 0x1p-23 : type == "float16" ? 0x1p-10 : 0x1p-7);
                for (size_t i = 0; i < results[0].size(); i++) {
                    if (!(std::fabs(results[0][i] - results[1][i]) <= units * std::fabs(results[1][i]) + 1e-7)) {
                        FAIL_CHECK("element " << i << " is " << results[0][i] << ", not " << results[1][i]);
                    }
                }
            }
        }
    }
}

TEST_CASE("the code of every level has non-temporal stores and a fence a task", "[stream]") {
    const TempDir dir;
    const std::string streamed = dir.write("streamed.lua", script(kStream));
    const Finished f = build(dir, {"--schedule", streamed, "--target", "avx512,avx2", "--emit", "static_library,assembly,c_header"});
    INFO(f.err);
    REQUIRE(f.exit_code == 0);
    CHECK(f.err == "");
    int levels = 0;
    for (const auto &name : files_in(dir.path() + "/out")) {
        CHECK(name.find(".bc") == std::string::npos);
        if (name.find(".s") == name.size() - 2) {
            const std::string assembly = read_file(dir.path() + "/out/" + name);
            levels++;
            CHECK(count(assembly, name.find("avx512") == std::string::npos ? "vmovntps\t%ymm" : "vmovntps\t%zmm") >= 1);
            CHECK(count(assembly, "\tsfence") >= 1);
        }
    }
    CHECK(levels == 2);
    const Finished disassembly = run_program({HALYARD_OBJDUMP, "-d", dir.path() + "/out/rms_norm.a"});
    CHECK(count(disassembly.out, "vmovntps %zmm") >= 1);
    CHECK(count(disassembly.out, "vmovntps %ymm") >= 1);
}

TEST_CASE("finished libraries are the same to the byte, and those of other schedules are not finished", "[stream]") {
    const TempDir dir;
    const std::string streamed = dir.write("streamed.lua", script(kStream));
    std::string first;
    for (int i = 0; i < 2; i++) {
        REQUIRE(build(dir, {"--schedule", streamed, "--target", "avx512,avx2"}).exit_code == 0);
        const std::string bytes = read_file(dir.path() + "/out/rms_norm.a");
        CHECK((first.empty() || first == bytes));
        first = bytes;
    }
    const std::string usual = dir.write("usual.lua", script(""));
    REQUIRE(build(dir, {"--schedule", usual, "--target", "avx2", "--emit", "assembly"}).exit_code == 0);
    CHECK(count(read_file(dir.path() + "/out/rms_norm.s"), "vmovnt") == 0);
    CHECK(files_in(dir.path() + "/out") == std::vector<std::string>{"rms_norm.a", "rms_norm.h", "rms_norm.s"});
}
