// Schedules that are legal and slow: each deserves one note, at its line and with the word that mends it.

#include <catch2/catch.hpp>

#include <Halide.h>

#include "small_pipeline.h"
#include "support.h"

using namespace Halide;

namespace {

const char *const kTarget = "x86-64-linux-avx2-fma-f16c-sse41-avx-no_runtime";

// What the report says of a schedule of `outputs`, with the folder of the script left out; "silent" where it has no note.
std::string notes_on(const Func &output, const std::vector<Argument> &arguments, const std::string &apply, const char *lint = "estimates") {
    load_small_plugin();
    const TempDir dir;
    const std::string script = dir.write("s.lua", "return schedule \"op\" { apply = function(k, p, target)\n" + apply + "\nend }\n");
    const std::string report = dir.path() + "/report.json";
    Pipeline pipeline(output);
    const Target target(kTarget);
    try {
        pipeline.apply_autoscheduler(target, AutoschedulerParams("Lua", {{"script", script}, {"report", report}, {"lint", lint}}));
        pipeline.compile_to_module(arguments, "op", target);
    } catch (const Halide::Error &e) {
        return e.what();
    }
    const std::string text = read_file(report);
    std::string notes;
    for (size_t at = text.find(dir.path() + "/s.lua:"); at != std::string::npos; at = text.find(dir.path() + "/s.lua:", at + 1)) {
        const size_t begin = at + dir.path().size() + 1, end = text.find_first_of("\n", begin);
        const std::string line = text.substr(begin, text.rfind('"', end) - begin);
        notes += line.find(": note: ") == std::string::npos ? "" : line + "\n";
    }
    for (size_t at = notes.find("\\\""); at != std::string::npos; at = notes.find("\\\"")) {
        notes.erase(at, 1);
    }
    return notes.empty() ? "silent" : notes;
}

std::string notes_on_product(const std::string &apply) {
    ImageParam a(Float(32), 2, "a"), b(Float(32), 2, "b");
    Var i("i"), j("j");
    RDom r(0, a.dim(0).extent(), "r");
    Func sum("sum"), c("c");
    sum(i, j) += a(r, j) * b(i, r);
    c(i, j) = sum(i, j);
    for (ImageParam *p : {&a, &b}) {
        p->set_estimates({{0, 512}, {0, 512}});
    }
    c.set_estimates({{0, 512}, {0, 512}});
    return notes_on(c, {a, b}, apply);
}

std::string notes_on_rows(const std::string &apply, bool calls = false) {
    ImageParam x(Float(32), 2, "x");
    Var col("col"), row("row");
    RDom r(0, x.dim(0).extent(), "r");
    Func top("top"), y("y");
    top(row) = -1e30f;
    top(row) = max(top(row), x(r, row));
    y(col, row) = calls ? tanh(x(col, row)) : exp(x(col, row) - top(row));
    x.set_estimates({{0, 2048}, {0, 2048}});
    y.set_estimates({{0, 2048}, {0, 2048}});
    return notes_on(y, {x}, apply);
}

bool contains(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

const std::string kGoodRows = R"(k.y:parallel("row"):vectorize("col", 8)
k.top:compute_at(k.y, "row"):update(0):atomic():vectorize("r", 32))";

const std::string kGoodProduct = R"(k.c:tile({"i", "j"}, {16, 4}, "auto", {"io", "jo"}, {"ii", "ji"})
k.c:parallel("jo"):vectorize("ii", 8):unroll("ji")
k.sum:compute_at(k.c, "io"):vectorize("i", 8):unroll("j")
k.sum:update(0):reorder("i", "j", "r"):vectorize("i", 8):unroll("i"):unroll("j"))";

}  // namespace

TEST_CASE("a schedule that is right has no note", "[lint]") {
    CHECK(notes_on_rows(kGoodRows) == "silent");
    CHECK(notes_on_product(kGoodProduct) == "silent");
}

TEST_CASE("what is computed again and again", "[lint]") {
    const std::string notes = notes_on_rows(R"(k.y:parallel("row"):vectorize("col", 8))");
    CHECK(contains(notes, "s.lua:2: note: k.top is computed 2048 times over: say k.top:compute_at(k.y, \"row\")"));
    CHECK(contains(notes_on_rows(R"(k.y:parallel("row"):vectorize("col", 8)
k.top:compute_at(k.y, "col"):update(0):atomic():vectorize("r", 32))"),
                   "s.lua:3: note: k.top is computed 256 times over: say k.top:compute_at(k.y, \"row\")"));
}

TEST_CASE("loops over single elements", "[lint]") {
    CHECK(notes_on_rows(R"(k.y:parallel("row")
k.top:compute_at(k.y, "row"):update(0):atomic():vectorize("r", 32))") ==
          "s.lua:2: note: k.y takes one element at a time over \"col\" (2048 of them): say k.y:vectorize(\"col\", 8)\n");
    CHECK(contains(notes_on_rows(R"(k.y:parallel("row"):vectorize("col", 8)
k.top:compute_at(k.y, "row"))"),
                   "s.lua:3: note: k.top:update(0) takes one element at a time over \"r\" (2048 of them): say "
                   "k.top:update(0):atomic():vectorize(\"r\", 8)"));
}

TEST_CASE("lanes that lie apart", "[lint]") {
    const std::string notes = notes_on_rows(R"(k.y:split("row", 8, "auto", "ro", "ri")
k.y:parallel("ro"):vectorize("ri", 8)
k.top:compute_root():parallel("row"):update(0):parallel("row"):atomic():vectorize("r", 32))");
    INFO(notes);
    CHECK(contains(notes, "s.lua:3: note: k.y loads lanes of x that are 8192 bytes apart: vectorize \"col\""));
}

TEST_CASE("lines that are left before they are used up", "[lint]") {
    CHECK(contains(notes_on_rows(R"(k.y:split("col", 8, "auto", "block", "lane")
k.y:vectorize("lane"):reorder("lane", "row", "block"):parallel("block")
k.top:compute_root():parallel("row"):update(0):parallel("row"):atomic():vectorize("r", 32))"),
                   ":reorder(\"block\", \"row\")"));
}

TEST_CASE("sums that stay in memory", "[lint]") {
    CHECK(contains(notes_on_product(R"(k.c:parallel("j"):vectorize("i", 8)
k.sum:compute_at(k.c, "j"):vectorize("i", 8)
k.sum:update(0):reorder("i", "r"):vectorize("i", 8))"),
                   "s.lua:4: note: k.sum:update(0) loads and stores its values at every turn of \"r\""));
}

TEST_CASE("more sums than registers", "[lint]") {
    std::string spilled = kGoodProduct;
    spilled.replace(spilled.find("{16, 4}"), 7, "{32, 16}");
    CHECK(contains(notes_on_product(spilled),
                   "s.lua:5: note: k.sum:update(0) adds to 64 vectors in its innermost loop, and there are 16 registers: unroll less"));
}

TEST_CASE("work of one thread", "[lint]") {
    std::string serial = kGoodProduct;
    serial.replace(serial.find(":parallel(\"jo\")"), 15, "");
    CHECK(contains(notes_on_product(serial), "note: k.c runs on one thread: say k.c:parallel(\"jo\")"));
}

TEST_CASE("calls of the C library", "[lint]") {
    CHECK(contains(notes_on_rows(R"(k:libm() k.y:parallel("row"):vectorize("col", 8))", true),
                   "s.lua:2: note: k.y calls tanh of the C library"));
}

TEST_CASE("notes need no estimates, and a setting", "[lint]") {
    ImageParam x(Float(32), 2, "x");
    Var col("col"), row("row");
    Func y("y");
    y(col, row) = exp(exp(x(col, row))) * exp(sqrt(x(col, row)));
    CHECK(contains(notes_on(y, {x}, "k.y:parallel(\"row\")"), "k.y takes one element at a time over \"col\""));
    CHECK(notes_on(y, {x}, "k.y:parallel(\"row\")", "") == "silent");
    CHECK(notes_on(y, {x}, "k.y:parallel(\"row\")", "x:8x8,y:8x8") == "silent");
}
