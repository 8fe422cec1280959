// Products of which some may be one launch, on an emulated device, against the naive schedule: what a product reads is there when it runs,
// and what reads its result comes after it. Numbers are small integers, so that results are equal to the bit.
//
//   HALYARD_RANDOM_JOINS=2000 HALYARD_RANDOM_SEED=1 tiles_test "[joins]"

#include <algorithm>
#include <map>
#include <random>

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "drawn_pipeline.h"

namespace {

using namespace halyard;
using namespace tiles_test;

struct Case {
    Assignments params;
    int parts = 0;
    std::string schedule;
};

Case draw_case(uint64_t seed) {
    Draw d(seed);
    Case c;
    c.params["type"] = d.of<std::string>({"bfloat16", "float16"});
    c.params["shared"] = d.one_in(4) ? "true" : "false";
    c.parts = 2 + d.below(3);
    c.schedule = "local gemm = require \"lib.gpu_gemm\"\nreturn schedule \"random_joins\" { target = \"cuda\", apply = function(k)\n";
    const bool alike = !d.one_in(4), skinny = d.one_in(2);
    const auto tile = [&](bool of_few) {
        return of_few ? fmt::format("rows = {}, columns = {}, stages = {}", d.of<int>({16, 32}), d.of<int>({32, 64}), d.of<int>({2, 4}))
                      : fmt::format("rows = {}, columns = {}, stages = {}", d.of<int>({64, 128}), d.of<int>({64, 128}), d.of<int>({2, 3}));
    };
    const std::string of_all = tile(skinny);
    for (int i = 0; i < c.parts; i++) {
        const auto rows = d.of<std::string>({"x", "x", "x", "twice", "twice", "last"});
        const auto result = d.of<std::string>({"out", "out", "out", "within", "half"});
        c.params["parts"] += fmt::format("{}{}.{}.{}", i ? " " : "", rows, result, d.of<std::string>({"none", "next"}));
        const auto elements = [&](const std::string &func, const std::string &x) {
            c.schedule += fmt::format("  {}:gpu_tile({{ \"{}\", \"row\" }}, {{ 32, 4 }}, \"guard\")\n", func, x);
        };
        const bool on_host = d.one_in(4);
        if (rows == "twice" && d.one_in(4)) {
            c.schedule += fmt::format("  k.twice{}:compute_root()\n", i);  // by the host
        } else if (rows == "twice") {
            elements(fmt::format("k.twice{}:compute_root()", i), "d");
        }
        std::string stage = fmt::format("k.y{}", i), row = "row";
        if (result != "out") {
            stage = fmt::format("k.half{}", i);
            if (!on_host) {
                elements(fmt::format("k.y{}", i), "col");
            }
            c.schedule += fmt::format("  {}:compute_root()\n", stage);
        }
        const std::string at = stage;
        if (result == "half") {
            elements(stage, "col");
            stage += ":update(0)";
            row = fmt::format("r{}", i);
        }
        const std::string own = alike ? of_all : tile(d.one_in(2));
        c.schedule += fmt::format("  do\n    local stage, o, col = {0}, {{ {1}, raster = 8 }}, \"tile_col{3}\"\n"
                                  "    stage:split(\"col\", o.columns, \"guard\", col, \"col_in_tile\")\n"
                                  "    stage:split(\"{2}\", o.rows, \"guard\", \"tile_row\", \"row_in_tile\")\n"
                                  "    stage:reorder(\"col_in_tile\", \"row_in_tile\", col, \"tile_row\")\n"
                                  "    stage:gpu_blocks({{ col, \"tile_row\" }}):never_partition_all()\n"
                                  "    gemm.tensor_sums(k.acc{3}, {{ {4}, col }}, o, {{}})\n  end\n",
                                  stage, own, row, i, at);
    }
    c.schedule += "end }\n";
    return c;
}

struct Sizes {
    int m, k;
    std::vector<int> n;
};

std::map<std::string, std::vector<double>> results_of(const CompiledKernel &kernel, const Case &c, const Sizes &s, uint64_t seed,
                                                      bool plain, std::string &error) {
    KernelArguments arguments(kernel);
    Draw d(seed * 31 + (plain ? 1 : 0));
    std::vector<std::string> words;
    const std::string parts = c.params.at("parts");
    for (size_t at = 0; at < parts.size(); at = parts.find(' ', at) == std::string::npos ? parts.size() : parts.find(' ', at) + 1) {
        words.push_back(parts.substr(at, parts.find(' ', at) - at));
    }
    const auto depth = [&](size_t i) {
        return words[i].compare(0, 4, "last") == 0 && i > 0 && words[i - 1].find(".out") == std::string::npos ? s.n[i - 1] : s.k;
    };
    for (const auto &a : kernel.arguments()) {
        const size_t part = a.name == "x" ? 0 : size_t(a.name[1] - '0');
        const bool views = !plain && s.k % 8 != 0 && d.one_in(2);
        const std::vector<int> extents = a.name == "x" ? std::vector<int>{s.k, s.m}
                                         : a.is_output ? std::vector<int>{s.n[c.params.at("shared") == "true" ? 0 : part], s.m}
                                                       : std::vector<int>{depth(part), s.n[part]};
        HostBuffer &b = arguments.buffer(a.name, views ? drawn_layout(extents, d) : Layout(extents));
        if (a.is_output) {
            continue;
        }
        std::vector<double> values(b.size());
        std::mt19937 random{uint32_t(seed) + uint32_t(a.name.back())};
        for (auto &v : values) {
            v = int(random() >> 8) % 3 - 1;
        }
        b.assign(values);
    }
    const CallResult result = kernel.call(arguments);
    error = result.ok() ? "" : result.message;
    std::map<std::string, std::vector<double>> values;
    for (const auto &a : kernel.arguments()) {
        if (a.is_output) {
            if (error.empty() && !arguments.buffer(a.name).surroundings_intact()) {
                error = "writes where no element of the result is";
            }
            values[a.name] = arguments.buffer(a.name).values();
        }
    }
    return values;
}

// Whether it is built; what is, computes what the naive schedule does.
bool check(const Case &c, int seed) {
    INFO("seed " << seed << ": " << assignments_text(c.params) << "\n" << c.schedule);
    const DrawnPipeline pipeline("random_joins", c.params, c.schedule, seed);
    if (!pipeline.is_built()) {
        return false;
    }
    const auto reference = pipeline.naive();
    for (const int capability : {90, 80}) {
        const auto kernel = pipeline.on(capability);
        Draw d(uint64_t(seed) + 5);
        for (int call = 0; call < 3; call++) {
            const bool whole = !d.one_in(3);
            const auto size = [&](int most) { return whole ? (1 + d.below(most / 8)) * 8 : 1 + d.below(most); };
            Sizes s = {size(150), size(150), {}};
            for (int i = 0; i < c.parts; i++) {
                s.n.push_back(i > 0 && c.params.at("shared") == "true" ? s.n[0] : size(150));
            }
            if (c.params.at("shared") == "true") {
                s.n.assign(s.n.size(), s.k);  // a result may be the rows of the next
            }
            INFO("capability " << capability << ", call " << call << ": m=" << s.m << " k=" << s.k
                               << " n=" << fmt::format("{}", fmt::join(s.n, ",")));
            std::string error;
            const auto should = results_of(reference, c, s, uint64_t(seed + call), true, error);
            REQUIRE(error == "");
            const auto is = results_of(kernel, c, s, uint64_t(seed + call), false, error);
            CHECK(error == "");
            for (const auto &r : should) {
                INFO(r.first);
                tiles_test::check_equal(r.second, is.at(r.first), int(r.second.size()) / s.m);
            }
        }
    }
    return true;
}

}  // namespace

// What the first of two needs is freed behind it, or its result is read by the host before the second; or it is to an array of the
// pipeline, of which an update stores the first half of the rows.
TEST_CASE("products that are one launch where nothing else comes between", "[joins]") {
    const auto checked = [](const std::string &parts, const std::string &before, const std::string &stage) {
        Case c;
        c.parts = 2;
        c.params = {{"type", "bfloat16"}, {"shared", "false"}, {"parts", parts}};
        c.schedule = R"(local gemm = require "lib.gpu_gemm"
return schedule "random_joins" { target = "cuda", apply = function(k)
  local o = { rows = 64, columns = 64, stages = 3, raster = 8 }
  local function product(stage, of, acc, row, tile)
    stage:split("col", o.columns, "guard", tile, "col_in_tile")
    stage:split(row, o.rows, "guard", "tile_row", "row_in_tile")
    stage:reorder("col_in_tile", "row_in_tile", tile, "tile_row"):gpu_blocks({ tile, "tile_row" }):never_partition_all()
    gemm.tensor_sums(acc, { of, tile }, o, {})
  end
)" + before + "\n  product(" +
                     stage + ", k.acc0, " + (parts.find("half") != std::string::npos ? "\"r0\"" : "\"row\"") +
                     ", \"tile0\")\n  product(k.y1, k.y1, k.acc1, \"row\", \"tile1\")\nend }\n";
        CHECK(check(c, 1));
    };
    const std::string tile = ":gpu_tile({ \"col\", \"row\" }, { 32, 4 }, \"guard\")";
    checked("twice.out x.out", "k.twice0:compute_root():gpu_tile({ \"d\", \"row\" }, { 32, 4 }, \"guard\")", "k.y0, k.y0");
    checked("x.within x.out", "k.half0:compute_root()", "k.half0, k.half0");
    checked("x.half.next x.out", "k.y0" + tile + " k.half0:compute_root()" + tile, "k.half0:update(0), k.half0");
}

TEST_CASE("products of which some may be one launch", "[joins]") {
    const int cases = setting("HALYARD_RANDOM_JOINS", 2), first = setting("HALYARD_RANDOM_SEED", 1);
    int refused = 0;
    WARN("seeds " << first << " to " << first + cases - 1);
    for (int seed = first; seed < first + cases; seed++) {
        refused += check(draw_case(uint64_t(seed)), seed) ? 0 : 1;
    }
    CHECK(refused * 2 <= cases);
}
