// The sums of a product's tile stay in registers: where Halide finds a loop or a second bound around them that is not there,
// LLVM keeps them in memory, results are the same, and everything takes twice as long.

#include <catch2/catch.hpp>

#include <algorithm>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/language/support.h"

namespace {

// The loops of one block: from a label to a jump back to it with no label between.
std::vector<std::vector<std::string>> innermost_loops(const std::string &assembly) {
    static const std::regex label(R"(^(\.?\w+):.*)"), jump(R"(^\s+j\w+\s+(\.?\w+).*)");
    std::vector<std::vector<std::string>> loops;
    std::vector<std::string> block;
    std::string name, line;
    std::istringstream lines(assembly);
    while (std::getline(lines, line)) {
        std::smatch m;
        if (std::regex_match(line, m, label)) {
            name = m[1];
            block.clear();
        } else {
            block.push_back(line);
            if (std::regex_match(line, m, jump) && m[1] == name) {
                loops.push_back(block);
            }
        }
    }
    return loops;
}

long count(const std::vector<std::string> &block, const char *pattern) {
    const std::regex r(pattern);
    return std::count_if(block.begin(), block.end(), [&](const std::string &line) { return std::regex_search(line, r); });
}

struct Product {
    std::string op, schedule;
    std::vector<std::string> params;
};

}  // namespace

TEST_CASE("sums of products stay in registers", "[registers]") {
    const std::vector<Product> products = {
        {"gemm", "", {}},
        {"gemm", "deep", {}},
        {"gemm", "kn", {}},
        {"gemm_reduce", "", {"reduction=sum"}},
        {"gemm_reduce", "", {"reduction=max"}},
        {"gemm_reduce", "", {"reduction=logsumexp"}},
        {"gemm_top_k", "", {}},
        {"linear_cross_entropy", "", {}},
        {"splade", "", {}},
        {"moe_router", "", {}},
        {"qkv_projection", "", {}},
        {"qkv_rope", "", {}},
        {"qkv_rope", "", {"qk_norm=weight", "cache_type=int8"}},
        {"swiglu", "", {}},
        {"swiglu_mlp", "", {}},
        {"rms_norm_gemm", "", {}},
        {"conv2d", "", {}},
        {"attention", "", {}},
        {"attention", "", {"causal=true"}},
    };
    for (const Product &p : products) {
        const TempDir dir;
        std::vector<std::string> command = {HALYARD_COMMAND, "build",    p.op,     "--quiet", "-o",
                                            dir.path(),      "--target", "avx512", "--emit",  "assembly"};
        if (!p.schedule.empty()) {
            command.insert(command.end(), {"--schedule", p.schedule});
        }
        INFO(p.op << " " << p.schedule);
        for (const auto &param : p.params) {
            command.insert(command.end(), {"--param", param});
            UNSCOPED_INFO(param);
        }
        const Finished f = run_program(command);
        INFO(f.err);
        REQUIRE(f.exit_code == 0);
        long products_found = 0;
        for (const auto &loop : innermost_loops(read_file(dir.path() + "/" + p.op + ".s"))) {
            const long sums = count(loop, R"(vfmadd\w+ps.*%zmm)"), stores = count(loop, R"(vmov[au]ps\s+%zmm\d+, .*\()");
            if (sums < 8) {
                continue;
            }
            products_found++;
            std::ostringstream text;
            for (const auto &line : loop) {
                text << line << '\n';
            }
            INFO(text.str());
            CHECK(2 * stores < sums);
        }
        CHECK(products_found > 0);
    }
}
