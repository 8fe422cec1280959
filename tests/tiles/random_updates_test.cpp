// Results that updates write in parts, on an emulated device, against the naive schedule: what a tile stores is no more than an update
// says. Numbers are small integers, so that results are equal to the bit.
//
//   HALYARD_RANDOM_UPDATES=2000 HALYARD_RANDOM_SEED=1 tiles_test "[updates]"

#include <algorithm>
#include <random>
#include <regex>
#include <set>

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "drawn_pipeline.h"

namespace {

using namespace halyard;
using namespace tiles_test;

struct Case {
    Assignments params;
    std::string a = "a";  // what it is called
    bool across = false;
    int least = 1;  // elements along each dimension, of calls
    std::string schedule;
};

Case draw_case(uint64_t seed) {
    Draw d(seed);
    Case c;
    const auto flag = [](bool b) { return std::string(b ? "true" : "false"); };
    c.across = d.one_in(3);
    const bool within = d.one_in(2), doubled = d.one_in(2);
    c.params["type"] = d.of<std::string>({"bfloat16", "float16"});
    c.params["result"] = d.one_in(4) ? "float32" : c.params["type"];
    c.params["within"] = flag(within);
    c.params["doubled"] = flag(doubled);
    c.params["across"] = flag(c.across);
    const std::string to = within ? "k.half" : "k.y";
    c.schedule = "local gemm = require \"lib.gpu_gemm\"\nreturn schedule \"random_updates\" { target = \"cuda\", apply = function(k)\n";
    for (const std::string &stage : within ? std::vector<std::string>{"k.half:compute_root()", "k.y"} : std::vector<std::string>{"k.y"}) {
        c.schedule += fmt::format("  {}:gpu_tile({{ \"col\", \"row\" }}, {{ 32, 4 }}, \"guard\")\n", stage);
    }
    const int count = d.one_in(3) ? 2 : 1;
    for (int i = 0; i < count; i++) {
        const auto rows = d.of<std::string>({"half", "from", "first", "every", "middle", "all", "back"});
        const auto columns = d.of<std::string>({"all", "all", "all", "half", "from", "first", "middle", "every"});
        const int number = d.of<int>({1, 3, 8, 16, 63, 64, 65, 72});
        const auto leaves_out = [](const std::string &how) { return how == "from" || how == "middle"; };
        c.least = std::max(c.least, leaves_out(rows) || leaves_out(columns) ? 2 * number : 1);
        const auto value = d.of<std::string>({"sum", "sum", "scaled", "old"});
        c.params["updates"] += fmt::format("{}{}.{}.{}.{}", i ? " " : "", rows, columns, number, value);
        const int tile = d.of<int>({16, 32, 64, 64, 64, 128, 128, 192}), wide = tile <= 32 ? d.of<int>({32, 64}) : d.of<int>({64, 64, 128});
        const std::string col = columns == "all" ? "col" : fmt::format("r{}_x", i),
                          row = columns == "all" ? fmt::format("r{}", i) : fmt::format("r{}_y", i);
        c.schedule += fmt::format(
            "  local stage = {}:update({})\n"
            "  stage:split(\"{}\", {}, \"guard\", \"tile_col{}\", \"col_in_tile\")\n"
            "  stage:split(\"{}\", {}, \"guard\", \"tile_row\", \"row_in_tile\")\n"
            "  stage:reorder(\"col_in_tile\", \"row_in_tile\", \"tile_col{}\", \"tile_row\"):gpu_blocks({{ \"tile_col{}\", \"tile_row\" "
            "}}):never_partition_all()\n"
            "  gemm.tensor_sums(k.acc{}, {{ {}, \"tile_col{}\" }}, {{ rows = {}, columns = {}, stages = {}, raster = 8 }}, {{}})\n",
            to, i, col, wide, i, row, tile, i, i, i, to, i, tile, wide, d.of<int>({2, 3, 4}));
    }
    c.schedule += "end }\n";
    return c;
}

struct Sizes {
    int m, n, k;
};

std::vector<double> result_of(const CompiledKernel &kernel, const Case &c, const Sizes &s, uint64_t seed, bool plain, std::string &error) {
    KernelArguments arguments(kernel);
    Draw d(seed * 31 + (plain ? 1 : 0));
    for (const auto &a : kernel.arguments()) {
        const std::vector<int> extents = a.name == c.a   ? std::vector<int>{s.k, s.m}
                                         : a.name == "b" ? c.across ? std::vector<int>{s.n, s.k} : std::vector<int>{s.k, s.n}
                                                         : std::vector<int>{s.n, s.m};
        HostBuffer &b = arguments.buffer(a.name, plain ? Layout(extents) : drawn_layout(extents, d));
        if (a.is_output) {
            continue;
        }
        std::vector<double> values(b.size());
        std::mt19937 random{uint32_t(seed) + (a.name == "b" ? 98 : 97)};
        for (auto &v : values) {
            v = int(random() >> 8) % 3 - 1;
        }
        b.assign(values);
    }
    const CallResult result = kernel.call(arguments);
    error = result.ok() ? arguments.buffer("y").surroundings_intact() ? "" : "writes where no element of the result is" : result.message;
    return arguments.buffer("y").values();
}

// Whether it is built; what is, computes what the naive schedule does.
bool check(const Case &c, int seed) {
    const TempDir folder;
    INFO("seed " << seed << ": " << assignments_text(c.params) << "\n" << c.schedule);
    const DrawnPipeline pipeline("random_updates", c.params, c.schedule, seed);
    if (!pipeline.is_built()) {
        return false;
    }
    const auto reference = pipeline.naive();
    for (const int capability : {90, 80}) {
        const auto kernel = pipeline.on(capability);
        Draw d(uint64_t(seed) + 5);
        for (int call = 0; call < 3; call++) {
            const bool whole = d.one_in(3);
            const auto size = [&](int most) { return whole ? (1 + d.below(most / 8)) * 8 : 1 + d.below(most); };
            const Sizes s = {std::max(size(200), c.least), std::max(size(150), c.least), size(150)};
            INFO("capability " << capability << ", call " << call << ": m=" << s.m << " n=" << s.n << " k=" << s.k);
            std::string error;
            const auto should = result_of(reference, c, s, uint64_t(seed + call), true, error);
            REQUIRE(error == "");
            const auto is = result_of(kernel, c, s, uint64_t(seed + call), whole, error);
            CHECK(error == "");
            tiles_test::check_equal(should, is, s.n);
        }
    }
    return true;
}

bool check_seed(int seed) {
    return check(draw_case(uint64_t(seed)), seed);
}

// All words of the kernels.
std::vector<std::string> words_of_kernels(const Case &c) {
    const TempDir folder;
    GenerateRequest request;
    request.op = "random_updates";
    request.generator = HALYARD_TILE_PIPELINES;
    request.params = c.params;
    request.schedule = folder.write("random_updates.lua", c.schedule);
    request.target = "cuda";
    request.devices = "emulator";
    request.emit = {"cuda"};
    const Generated result = generate(make_plan(request), folder.path());
    REQUIRE(result.error == "");
    const std::string text = std::regex_replace(read_file(folder.path() + "/random_updates.cu"), std::regex("//.*"), "");
    std::set<std::string> words;
    const std::regex word("[A-Za-z][A-Za-z0-9_]*");
    for (std::sregex_iterator it(text.begin(), text.end(), word), end; it != end; ++it) {
        const std::string w = it->str();
        if (w.find("random_updates") == std::string::npos && w.find("__") == std::string::npos && w.size() < 40) {
            words.insert(w);
        }
    }
    return {words.begin(), words.end()};
}

void replace_all(std::string &text, const std::string &from, const std::string &to) {
    text = std::regex_replace(text, std::regex("\\b" + from + "\\b"), to);
}

// The case with names that its kernels have, too: of an operand, an array, a dimension and the loops.
Case renamed(Case c, const std::vector<std::string> &words, Draw &d) {
    static const std::set<std::string> kKeywords = {"const", "int",  "float", "for",  "if",      "else",   "extern", "void",
                                                    "bool",  "auto", "char",  "true", "alignas", "static", "false",  "unsigned"};
    std::set<std::string> taken = {"a", "b", "y", "half", "index", "row", "col", "k"};
    const auto word = [&](bool of_c) {
        for (;;) {
            const std::string w = d.of(words);
            const bool number = w[0] == 't' && w.find_first_not_of("0123456789", 1) == std::string::npos;  // of Halide
            if ((!of_c || kKeywords.count(w) == 0) && !number && taken.insert(w).second) {
                return w;
            }
        }
    };
    c.a = word(true);
    c.params["name_a"] = c.a;
    c.params["name_half"] = word(false);
    replace_all(c.schedule, "k\\.half", "k[\"" + c.params["name_half"] + "\"]");
    for (const char *loop : {"tile_row", "row_in_tile", "col_in_tile", "tile_col0", "tile_col1"}) {
        replace_all(c.schedule, loop, word(false));
    }
    return c;
}

}  // namespace

TEST_CASE("names that kernels have, too", "[names]") {
    const int cases = setting("HALYARD_RANDOM_NAMES", 1), first = setting("HALYARD_RANDOM_SEED", 1);
    WARN("seeds " << first << " to " << first + cases - 1);
    int refused = 0;
    for (int seed = first; seed < first + cases; seed++) {
        Draw d(uint64_t(seed) + 99);
        Case c;
        // A schedule that is refused has no words.
        std::vector<std::string> words;
        for (int n = 0; words.empty(); n++) {
            c = draw_case(uint64_t(seed) * 50 + uint64_t(n));
            if (c.params["updates"].find("middle") == std::string::npos) {
                words = words_of_kernels(c);
            }
        }
        refused += check(renamed(c, words, d), seed) ? 0 : 1;
    }
    CHECK(refused == 0);
}

TEST_CASE("results that updates write in parts", "[updates]") {
    const int cases = setting("HALYARD_RANDOM_UPDATES", 2), first = setting("HALYARD_RANDOM_SEED", 1);
    int refused = 0;
    WARN("seeds " << first << " to " << first + cases - 1);
    for (int seed = first; seed < first + cases; seed++) {
        refused += check_seed(seed) ? 0 : 1;
    }
    CHECK(refused * 2 <= cases);
}
