// Scripts that fix a part and leave the rest open: the search decides what is open around what is fixed, and keeps the
// text. What it proposes is built, run and checked like everything else.

#include <algorithm>
#include <sstream>

#include <catch2/catch.hpp>

#include "kernel/failure.h"
#include "explore/measure/measurer.h"
#include "explore/space/search.h"

using namespace halyard;
using namespace halyard::explore;
using Catch::Contains;

namespace {

// The whole script: what stands in `apply`, and the head before it.
std::string script(const std::string &op, const std::string &apply, const std::string &head = "") {
    return "-- Mine.\nreturn schedule \"" + op + "\" {\n  target = \"cpu\",\n" + head +
           "  apply = function(k, p, target)\n    local lanes = target:lanes \"f32\"\n" + apply + "  end,\n}\n";
}

SearchOptions options_of(const std::string &lua) {
    SearchOptions o;
    Candidate c;
    c.lua = lua;
    c.origin = "mine.lua";
    o.scripts = {c};
    return o;
}

Task task_of(const std::string &op, const Dims &shape, const Assignments &params = {}) {
    Task t;
    t.op = op;
    t.shape = shape;
    t.params = params;
    t.threads = 2;
    t.limits.run_seconds = 10;
    return t;
}

const std::string kSoftmax = script("softmax",
                                    "    local task, row = k.y:split(\"row\", p.rows, \"guard\", \"task\", \"mine\") -- kept\n"
                                    "    task:parallel()\n"
                                    "    k.y:vectorize(\"col\", lanes, \"guard\")\n"
                                    "    k:open() -- the statistics\n",
                                    "  params = { rows = tune { 1, 4, 8, default = 4 } },\n");

Task softmax() {
    return task_of("softmax", {{"rows", 37}, {"cols", 100}});
}

// A few candidates, all of them measured, and none of them wrong.
std::vector<Tried> search_few(const Task &task, const std::string &lua, size_t most) {
    SearchOptions o = options_of(lua);
    o.most = most;
    Measurer measurer(task);
    Search search(task, o, [&](const std::vector<Candidate> &candidates, double) {
        std::vector<Measured> all;
        for (const auto &c : candidates) {
            INFO(c.lua);
            all.push_back(measurer.measure(c));
            INFO(all.back().message);
            CHECK(all.back().status != Status::kWrongResult);
            CHECK((all.back().ok() || c.origin != "guess"));
        }
        return all;
    });
    search.run();
    CHECK(search.tried() >= std::min<size_t>(most, 2));
    CHECK_FALSE(search.ranking().empty());
    return search.ranking();
}

const ChoicePoint *point(const Proposal &p, const std::string &name) {
    for (const auto &c : p.points) {
        if (c.name == name) {
            return &c;
        }
    }
    return nullptr;
}

bool offers(const Proposal &p, const std::string &name, const std::string &option) {
    const ChoicePoint *c = point(p, name);
    return c && std::count(c->options.begin(), c->options.end(), option) > 0;
}

// The statements that were found, without blanks before them.
std::string found_in(const std::string &lua) {
    std::string text;
    bool begun = false;
    std::istringstream in(lua);
    for (std::string line; std::getline(in, line);) {
        const size_t at = line.find_first_not_of(' ');
        begun = begun || line.find("local lanes") != std::string::npos;
        if (begun && at != std::string::npos) {
            text += line.substr(at) + "\n";
        }
    }
    return text.substr(0, text.rfind("end,"));
}

std::string error_of(const Task &task, const std::string &lua) {
    try {
        Search(task, options_of(lua), {}).propose({});
    } catch (const Failure &e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST_CASE("the output is fixed, statistics are open", "[open]") {
    const Proposal p = Search(softmax(), options_of(kSoftmax), {}).propose({});
    const std::string &lua = p.candidate.lua;
    INFO(lua);
    // What a person wrote is there as it was, before and after.
    const size_t at = kSoftmax.find("k:open()");
    CHECK(lua.substr(0, at) == kSoftmax.substr(0, at));
    CHECK_THAT(lua, Catch::EndsWith("end -- the statistics\n  end,\n}\n"));
    CHECK(lua.find("k.y", at) == lua.find("k.y,", at));  // named as a place, and nothing said of it
    CHECK(p.plan.placed.at("row_max").in == "y");
    CHECK(p.plan.placed.at("row_max").level == "mine");
    // Loops that the script named, its tune{} and the root are all there to choose from.
    CHECK(offers(p, "place of row_max", "y.task"));
    CHECK(offers(p, "place of row_max", "root"));
    CHECK(offers(p, "inline weight", "yes"));
    CHECK(offers(p, "tune rows", "8"));
    const Proposal other = Search(softmax(), options_of(kSoftmax), {}).propose({{"place of row_max", "y.task"}, {"tune rows", "8"}});
    CHECK(other.plan.placed.at("row_max").level == "task");
    CHECK(other.candidate.set.at("rows") == "8");
    CHECK(measure(softmax(), other.candidate).ok());
    search_few(softmax(), kSoftmax, 6);
}

TEST_CASE("only what is named is open", "[open]") {
    std::string lua = kSoftmax;
    lua.replace(lua.find("k:open()"), 8, "k.row_max:compute_root()\n    k:open(\"weight\", \"row_sum\", \"inv_sum\")");
    const Proposal p = Search(softmax(), options_of(lua), {}).propose({});
    INFO(p.candidate.lua);
    CHECK(p.candidate.lua.find("k.row_max") == p.candidate.lua.rfind("k.row_max"));
    CHECK(p.plan.placed.at("row_max").place == Place::kRoot);
    CHECK_FALSE(point(p, "place of row_max"));
    CHECK(point(p, "place of row_sum"));
    const Measured m = measure(softmax(), p.candidate);
    INFO(m.message);
    CHECK(m.ok());
}

TEST_CASE("a copy that the script makes is the script's", "[open]") {
    std::string lua = kSoftmax;
    lua.replace(lua.find("k:open()"), 8, "k.x:in_():compute_at(k.y, \"mine\")\n    k:open()");
    const Proposal p = Search(softmax(), options_of(lua), {}).propose({});
    INFO(p.candidate.lua);
    CHECK(p.plan.placed.at("x_in").level == "mine");
    CHECK_FALSE(point(p, "place of x_in"));
    CHECK_FALSE(point(p, "inline x_in"));
    const Measured m = measure(softmax(), p.candidate);
    INFO(m.message);
    CHECK(m.ok());
}

TEST_CASE("the tile of a product is fixed, what it reads is open", "[open]") {
    const Task t = task_of("gemm", {{"m", 37}, {"n", 100}, {"k", 48}}, {{"weights", "packed"}, {"panel", "32"}});
    const std::string lua =
        "local gemm = require \"lib.gemm\"\n" +
        script("gemm", "    local function tile(stage, rows)\n"
                       "      local tiles, row = stage:split(\"row\", rows, rows > 1 and \"shift_inwards\" or \"auto\", \"tile\", \"r\")\n"
                       "      local panel, col = stage:split(\"col\", 2 * lanes, \"guard\", \"panel\", \"c\")\n"
                       "      stage:reorder(col, row, tiles, panel):parallel(panel)\n"
                       "      stage:vectorize(col, lanes, \"guard\"):unroll(col)\n"
                       "    end\n"
                       "    tile(k.y:specialize(k.y:dim(1):extent():at_least(4)), 4)\n"
                       "    tile(k.y, 1)\n"
                       "    gemm.in_registers(k.acc, k.y, \"tile\", { columns = 2 * lanes, lanes = lanes })\n"
                       "    k:open()\n");
    const Proposal p = Search(t, options_of(lua), {}).propose({});
    INFO(p.candidate.lua);
    CHECK(p.plan.placed.at("acc").level == "tile");
    CHECK(p.candidate.lua.find("k.acc:", lua.find("k:open()")) == std::string::npos);
    search_few(t, lua, 6);
}

TEST_CASE("a product is open around an output with tiles", "[open]") {
    const Task t = task_of("gemm", {{"m", 37}, {"n", 96}, {"k", 48}}, {{"weights", "packed"}, {"panel", "32"}});
    const std::string lua =
        script("gemm", "    k.y:tile({ \"col\", \"row\" }, { 2 * lanes, 4 }, \"shift_inwards\", { \"tc\", \"tr\" }, { \"c\", \"r\" })\n"
                       "    k.y:parallel \"tr\":vectorize(\"c\", lanes):unroll \"c\":unroll \"r\"\n"
                       "    k:open()\n");
    const Proposal p = Search(t, options_of(lua), {}).propose({});
    INFO(p.candidate.lua);
    CHECK(p.plan.placed.at("acc").level == "tc");
    CHECK(p.plan.placed.at("acc").on_stack);
    CHECK(offers(p, "place of acc", "y.tr"));
    search_few(t, lua, 4);
}

TEST_CASE("inner parts are fixed, the output is open", "[open]") {
    const Task t = task_of("rms_norm", {{"rows", 37}, {"cols", 100}});
    const std::string lua =
        script("rms_norm", "    k.inv_rms:compute_at(k.y, \"row\")\n"
                           "    k.sum_sq:compute_at(k.y, \"row\"):update(0):atomic():vectorize(\"col\", lanes, \"guard\")\n"
                           "    k:open \"y\"\n");
    Search search(t, options_of(lua), {});
    const Proposal p = search.propose({{"task of y", "4"}});
    INFO(p.candidate.lua);
    // However y is cut, the loop that the others are computed in keeps its name.
    CHECK_THAT(p.candidate.lua, Contains("k.y:split(\"row\", 4, \"guard\", \"row_task\", \"row_in_task\")"));
    CHECK_THAT(p.candidate.lua, Contains("k.y:rename(\"row_in_task\", \"row\")"));
    CHECK(p.plan.placed.at("sum_sq").level == "row");
    const Measured m = measure(t, p.candidate);
    INFO(m.message);
    CHECK(m.ok());
    search_few(t, lua, 4);
}

TEST_CASE("all is open: as without a script", "[open]") {
    for (const char *op : {"softmax", "layer_norm", "gemm"}) {
        const bool product = std::string(op) == "gemm";
        const Task t = product ? task_of(op, {{"m", 37}, {"n", 100}, {"k", 48}}, {{"weights", "packed"}, {"panel", "48"}})
                               : task_of(op, {{"rows", 37}, {"cols", 100}});
        const Proposal given = Search(t, options_of(script(op, "    k:open()\n")), {}).propose({});
        const Proposal free = Search(t, {}, {}).propose({});
        const std::string mine = found_in(given.candidate.lua);
        INFO(given.candidate.lua << "\n" << free.candidate.lua);
        // The script says `local lanes` itself, and what is found stands in a block.
        const std::string theirs = found_in(free.candidate.lua);
        const size_t block = mine.find("do -- found");
        REQUIRE(block != std::string::npos);
        // What is required stands there too.
        const std::string inside = mine.substr(mine.find("local lanes", block));
        CHECK(inside.substr(0, inside.rfind("end\n")) == theirs);
        CHECK(given.plan.fusion() == free.plan.fusion());
    }
}

TEST_CASE("a call with its Funcs on several lines is replaced as a whole", "[open]") {
    std::string lua = kSoftmax;
    lua.replace(lua.find("k:open()"), 8, "if true then k:open(\"row_max\", -- (one\n      'weight',\n      \"row_sum\", \"inv_sum\") end");
    const Proposal p = Search(softmax(), options_of(lua), {}).propose({});
    INFO(p.candidate.lua);
    CHECK(p.candidate.lua.find(":open") == std::string::npos);
    CHECK_THAT(p.candidate.lua, Contains("if true then do -- found"));
    CHECK_THAT(p.candidate.lua, Contains("    end end -- the statistics\n"));
}

TEST_CASE("what cannot be open says why, and where", "[open]") {
    const auto with = [](const std::string &statements) {
        std::string lua = kSoftmax;
        lua.replace(lua.find("k:open()"), 8, statements);
        return error_of(softmax(), lua);
    };
    CHECK_THAT(with("k:open \"weigth\""),
               Contains("mine.lua:10: error: open: there is no Func \"weigth\"") && Contains("did you mean \"weight\"?"));
    CHECK_THAT(with("k:open \"y\""), Contains("mine.lua:10: error: open: y is open here, and scheduled in line "));
    CHECK_THAT(with("k:open \"x\""), Contains("open: x is an input"));
    CHECK_THAT(with("k:open() k.row_max:compute_root()"), Contains("open: more is scheduled after it, in line 10"));
    CHECK_THAT(with("k:open() k:open()"), Contains("open: stands here a second time"));
    CHECK_THAT(with("k:open(1)"), Contains("open: takes names of Funcs, not number"));
    CHECK_THAT(with("local x = k:open()"), Contains("mine.lua:10: error: open: stands inside of an expression"));
    CHECK_THAT(with("for _, n in ipairs(k:names()) do if n ~= \"y\" then k[n]:compute_root() end end k:open()"),
               Contains("open: leaves nothing open"));
}

TEST_CASE("a script that leaves a part open cannot be built", "[open]") {
    Candidate c;
    c.lua = kSoftmax;
    const Measured m = measure(softmax(), c);
    CHECK(m.status == Status::kBuildError);
    CHECK_THAT(m.message, Contains("open: what stands here is left to a search") && Contains("halyard explore"));
}
