// Operands that are computed on the way in of numbers of every kind, on an emulated device, against plain loops. Numbers are small, so that
// results are equal to the bit.
//
//   HALYARD_RANDOM_ROWS=2000 HALYARD_RANDOM_SEED=1 tiles_test "[rows]"
//
// builds so many, each of the next seed; a failure names its seed.

#include <random>

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "drawn_pipeline.h"

namespace {

using namespace halyard;
using namespace tiles_test;

struct Case {
    Assignments params, set;
    std::vector<std::string> of;  // what each number is of
    std::vector<int> groups;
    int depth = 0;
    bool columns = false, across = false, staged = false, masked = false, nibbles = false;
    std::string schedule;
};

// `with_tables`: results name entries of a table.
Case draw_case(uint64_t seed, bool with_tables) {
    Draw d(seed);
    Case c;
    const auto flag = [](bool b) { return std::string(b ? "true" : "false"); };
    c.params["type"] = d.of<std::string>({"bfloat16", "bfloat16", "float16"});
    const std::string code = d.of<std::string>({"int8", "int8", "uint8", "nibbles", c.params["type"], "float16", "float32"});
    c.params["code"] = code;
    c.nibbles = code == "nibbles";
    std::string numbers;
    const bool plain = with_tables && d.one_in(2);  // no operand is computed
    const int count = plain ? 0 : 1 + d.below(3);
    for (int i = 0; i < count; i++) {
        std::string of =
            d.of<std::string>({"row", "depth", "depth", "group", "group", "across", "zero", "one", "gather", "lookup", "mixed", "folded"});
        if (i == 0 && (code == "uint8" || code == "nibbles") && d.one_in(2)) {
            of = "lookup";
        }
        if (of == "lookup" && (i > 0 || (code != "uint8" && code != "nibbles"))) {
            of = "group";
        }
        const int group = d.of<int>({1, 1, 2, 4, 8, 16, 32, 64, 128, 24, 96, 3});
        c.of.push_back(of);
        c.groups.push_back(group);
        numbers += fmt::format("{}{}.{}.{}", i ? " " : "", of,
                               d.of<std::string>({"bfloat16", "float16", "float32", "int8", "uint8", "int32"}), group);
    }
    if (!plain) {
        c.params["numbers"] = numbers;
    }
    c.depth = d.one_in(3) ? d.of<int>({64, 128, 192, 256, 320}) : 0;
    c.params["depth"] = std::to_string(c.depth);
    c.columns = d.one_in(4);
    c.across = d.one_in(3);
    c.staged = !c.columns && d.one_in(5) && c.depth % 128 == 0;
    c.masked = d.one_in(6);
    c.params["columns"] = flag(c.columns);
    c.params["across"] = flag(c.across);
    c.params["staged"] = flag(c.staged);
    c.params["masked"] = flag(c.masked);
    if (with_tables) {
        c.params["after"] = d.of<std::string>({"column", "row", "sum"});
        if (plain) {
            c.params["code"] = c.params["type"];
            c.nibbles = c.masked = c.staged = false;
            c.params["masked"] = c.params["staged"] = "false";
        }
    }
    const int rows = d.of<int>({16, 32, 64, 64, 64, 128, 128, 192});
    const int columns = rows <= 32 ? d.of<int>({32, 64}) : d.of<int>({64, 64, 128});
    const bool few = rows <= 32;
    const int warps = d.one_in(4) ? d.of<int>({2, 3, 4}) : 1, cluster = d.one_in(5) ? d.of<int>({2, 4}) : 1;
    c.schedule = fmt::format(
        "local gemm = require \"lib.gpu_gemm\"\nreturn schedule \"random_rows\" {{ target = \"cuda\", apply = function(k)\n"
        "  gemm.tensor_tiles(k.y, k.acc, {{ rows = {}, columns = {}, stages = {}, raster = 8 }}, {{ warps = {}, cluster = {} }})\n",
        rows, columns, d.of<int>({2, 2, 3, 4, 8}), warps, cluster);
    if (c.staged) {
        c.schedule += fmt::format("  k.aw:compute_at(k.acc, \"step\"):store_in \"register\":bound_extent(\"row\", {}):bound_extent(\"kk\", "
                                  "{}):never_partition_all()\n",
                                  rows, few ? 128 : 64);
    }
    c.schedule += "end }\n";
    return c;
}

struct Sizes {
    int m, n, k;
};

void fill(HostBuffer &b, const std::string &name, const Case &c, const Sizes &s, uint32_t seed) {
    Draw d(seed + uint32_t(name[0]) * 7 + uint32_t(name.back()));
    std::vector<double> values(b.size());
    for (auto &v : values) {
        if (name == "a") {
            v = c.nibbles ? d.below(256) : b.type().code == halide_type_uint ? d.below(16) : d.below(3) - 1;
        } else if (name == "b" || name == "table") {
            v = d.below(3) - 1;
        } else if (name == "index" || name == "entry") {
            v = d.below(7);
        } else if (name == "length") {
            v = d.below(s.k + 1);
        } else {
            const bool zero = c.of[size_t(name[1] - '0')] == "zero";
            v = zero ? d.below(3) : d.of<double>({1, 1, 2});
        }
    }
    b.assign(values);
}

std::vector<double> result_of(const CompiledKernel &kernel, const Case &c, const Sizes &s, uint32_t seed, bool plain, std::string &error) {
    KernelArguments arguments(kernel);
    Draw d(seed * 31 + (plain ? 1 : 0));
    const int lines = c.columns ? s.n : s.m, others = c.columns ? s.m : s.n;
    for (const auto &a : kernel.arguments()) {
        std::vector<int> extents;
        if (a.name == "a") {
            extents = {c.nibbles ? (s.k + 1) / 2 : s.k, lines};
        } else if (a.name == "b") {
            extents = c.across ? std::vector<int>{others, s.k} : std::vector<int>{s.k, others};
        } else if (a.name == "y") {
            extents = {s.n, s.m};
        } else if (a.name == "table") {
            extents = {9};
        } else if (a.name == "entry") {
            extents = {c.params.at("after") == "column" ? s.n : s.m};
        } else if (a.name == "index" || a.name == "length") {
            extents = {lines};
        } else {
            const size_t i = size_t(a.name[1] - '0');
            const int groups = (s.k + c.groups[i] - 1) / c.groups[i];
            const std::string &of = c.of[i];
            extents = of == "row"                     ? std::vector<int>{lines}
                      : of == "depth"                 ? std::vector<int>{groups}
                      : of == "group" || of == "zero" ? std::vector<int>{groups, lines}
                      : of == "across"                ? std::vector<int>{lines, groups}
                      : of == "one"                   ? std::vector<int>{1}
                      : of == "gather"                ? std::vector<int>{7}
                      : of == "lookup"                ? std::vector<int>{16}
                      : of == "mixed"                 ? std::vector<int>{11}
                                                      : std::vector<int>{c.groups[i]};
        }
        HostBuffer &b = arguments.buffer(a.name, plain ? Layout(extents) : drawn_layout(extents, d));
        if (!a.is_output) {
            fill(b, a.name, c, s, seed);
        }
    }
    const CallResult result = kernel.call(arguments);
    error = result.ok() ? arguments.buffer("y").surroundings_intact() ? "" : "writes where no element of the result is" : result.message;
    return arguments.buffer("y").values();
}

bool check_seed(int seed, bool with_tables = false) {
    const Case c = draw_case(uint64_t(seed), with_tables);
    INFO("seed " << seed << ": " << assignments_text(c.params) << "\n" << c.schedule);
    const DrawnPipeline pipeline("random_rows", c.params, c.schedule, seed);
    if (!pipeline.is_built()) {
        return false;
    }
    const auto reference = pipeline.naive();
    for (const int capability : {90, 80}) {
        const auto kernel = pipeline.on(capability);
        Draw d(uint64_t(seed) + 5);
        for (int call = 0; call < 3; call++) {
            const int depth = c.depth ? c.depth : call == 2 && d.one_in(3) ? 0 : 1 + d.below(300);
            const Sizes s = {1 + d.below(150), 1 + d.below(140), c.staged ? (depth + 127) / 128 * 128 : depth};
            INFO("capability " << capability << ", call " << call << ": m=" << s.m << " n=" << s.n << " k=" << s.k);
            std::string error;
            const auto should = result_of(reference, c, s, uint32_t(seed), true, error);
            REQUIRE(error == "");
            const auto is = result_of(kernel, c, s, uint32_t(seed), false, error);
            CHECK(error == "");
            tiles_test::check_equal(should, is, s.n);
        }
    }
    return true;
}

}  // namespace

TEST_CASE("operands that are computed of numbers of every kind", "[rows]") {
    const int cases = setting("HALYARD_RANDOM_ROWS", 3), first = setting("HALYARD_RANDOM_SEED", 1);
    int refused = 0;
    WARN("seeds " << first << " to " << first + cases - 1);
    for (int seed = first; seed < first + cases; seed++) {
        refused += check_seed(seed, seed % 3 == 0) ? 0 : 1;
    }
    CHECK(refused * 2 <= cases);
}

TEST_CASE("operands that were once computed wrongly", "[rows]") {
    // A table whose entries codes name: they were read before the codes had come.
    CHECK(check_seed(121));
}
