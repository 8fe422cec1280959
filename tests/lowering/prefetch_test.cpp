// The words prefetch_over and prefetch_ahead: the same results as without, and prefetches in the code where they are
// asked for.

#include <catch2/catch.hpp>

#include "kernel/kernel.h"
#include "tests/language/support.h"

using namespace halyard;

namespace {

std::string script(const std::string &words) {
    return "local reduce = require 'lib.reduce'\n"
           "return schedule 'rms_norm' { target = 'cpu', apply = function(k, p, target)\n"
           "  local task, row = k.y:split('row', 4, 'guard')\n"
           "  task:parallel()\n"
           "  k.y:vectorize('col', target:lanes 'f32', 'guard')\n"
           "  k.inv_rms:compute_at(row)\n"
           "  reduce.in_lanes(k.sum_sq, 'col', { at = row, lanes = 8, accum = 2 })\n" +
           words +
           "\n"
           "end }\n";
}

const std::string kInput = "  k.y:prefetch_over('col', k.x, row)\n", kOutput = "  k.sum_sq:update(0):prefetch_over('col', k.y, row, 0)\n",
                  kAhead = "  k.y:prefetch_ahead('col', 100)\n";

size_t count(const std::string &text, const std::string &what) {
    size_t n = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
        n++;
    }
    return n;
}

size_t prefetches_of(const std::string &words) {
    const TempDir dir;
    const Finished f = run_program({HALYARD_COMMAND, "build", "rms_norm", "--quiet", "-o", dir.path() + "/out", "--schedule",
                                    dir.write("s.lua", script(words)), "--target", "avx2", "--emit", "assembly"});
    INFO(f.err);
    REQUIRE(f.exit_code == 0);
    const std::string assembly = read_file(dir.path() + "/out/rms_norm.s");
    return count(assembly, "\tprefetcht0") + count(assembly, "\tprefetchw");
}

}  // namespace

TEST_CASE("rows are the same with what comes next prefetched, also behind the last one", "[prefetch]") {
    const TempDir dir;
    GenerateRequest request;
    request.op = "rms_norm";
    request.target = "avx2";
    for (const std::string type : {"float32", "bfloat16"}) {
        request.params["type"] = type;
        request.schedule = dir.write("with.lua", script(kInput + kOutput + kAhead));
        const CompiledKernel with = CompiledKernel::build(request);
        request.schedule = dir.write("without.lua", script(""));
        const CompiledKernel without = CompiledKernel::build(request);
        for (const auto &[cols, rows, stride] : {std::tuple(256, 9, 256), {251, 4, 260}, {1, 1, 1}, {70, 1, 70}, {5, 3, 7}}) {
            INFO(type << ", " << cols << " columns, " << rows << " rows");
            std::vector<double> results[2];
            for (int i = 0; i < 2; i++) {
                const CompiledKernel &kernel = i ? without : with;
                KernelArguments a(kernel);
                Layout layout({cols, rows});
                layout.strides = {1, stride};
                a.buffer("x", layout).fill_random(1);
                a.buffer("weight", {{cols}}).fill_random(2);
                a.scalar("eps", 1e-6);
                HostBuffer &y = a.buffer("y", layout);
                const CallResult r = kernel.call(a);
                INFO(r.message);
                REQUIRE(r.ok());
                CHECK(y.surroundings_intact());
                results[i] = y.values();
            }
            CHECK(results[0] == results[1]);
        }
    }
}

TEST_CASE("there are prefetches of what is asked for, and of what is streamed none", "[prefetch]") {
    const size_t input = prefetches_of(kInput), output = prefetches_of(kOutput);
    CHECK(prefetches_of("") == 0);
    CHECK(input > 0);
    CHECK(output > 0);
    // Two versions of the loops, of which one stores past the caches.
    CHECK(prefetches_of("  k.y:stream(0)\n" + kInput) == 2 * input);
    CHECK(prefetches_of("  k.y:stream(0)\n" + kOutput) == output);
    CHECK(prefetches_of("  k.y:stream(0)\n  k.y:prefetch_over('col', k.x, row, 1, true)\n") == input);
    CHECK(prefetches_of("  k.y:prefetch_over('col', k.x, row, 1, true)\n") == 0);
    // x and the weight, each in a loop of whole vectors and in one for the rest of a row.
    CHECK(prefetches_of(kAhead) >= 2);
    CHECK(prefetches_of("  k.sum_sq:update(0):prefetch_ahead('col')\n") > 0);
    CHECK(prefetches_of("  k.y:prefetch_ahead('row_outer')\n") == 0);  // a loop lies between
}

TEST_CASE("a prefetch behind what is read has to be behind it", "[prefetch]") {
    const TempDir dir;
    GenerateRequest request;
    request.op = "rms_norm";
    request.target = "avx2";
    request.schedule = dir.write("s.lua", script("  k.y:prefetch_ahead('col', 0)\n"));
    CHECK_THROWS_WITH(CompiledKernel::build(request), Catch::Contains("\"bytes\" is 0, but must be from 1 to"));
}
