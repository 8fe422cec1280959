// The head of a schedule: fields, parameters, --set, where, requires, facts.

#include "hostile.h"

using Catch::Matchers::Contains;
using halyard::ScriptError;
using halyard::ScriptHeader;
using halyard::ScriptOptions;

namespace {

const char *const kScript = R"(-- Plan in one line.
-- And a second.
--
-- A third.

local unrelated = 1 -- not of the summary

return schedule "rms_norm" {
  target = "cpu",
  requires = { "avx2" },
  generator = {
    statistics = tune { "one_pass", "two_pass" },
    weights = "packed",
  },
  params = {
    rows = tune { 1, 4, 16, default = 4 },
    guard = tune { true, false, default = false },
    ratio = 0.5,
  },
  where = function(p, target)
    return p.rows ~= 16 or target.l2 > 1 << 20
  end,
  apply = function(k, p, target) end,
}
)";

ScriptHeader header(const std::string &text, const ScriptOptions &options = {}) {
    const TempDir dir;
    return halyard::read_header(dir.write("script.lua", text), options);
}

std::string error(const std::string &text, const ScriptOptions &options = {}) {
    const TempDir dir;
    try {
        halyard::read_header(dir.write("script.lua", text), options);
    } catch (const ScriptError &e) {
        return std::string(e.what()).substr(dir.path().size() + 1);
    }
    return "no error";
}

ScriptOptions setting(const std::string &text, const std::string &target = "x86-64-linux-avx2") {
    ScriptOptions options;
    options.set = halyard::parse_assignments(text);
    options.target = target;
    return options;
}

std::string value(const ScriptHeader &h, const std::string &name) {
    for (const auto &p : h.params) {
        if (p.name == name) {
            return p.value;
        }
    }
    return "?";
}

// A schedule whose fields are these.
std::string fields(const std::string &text) {
    return "\nreturn schedule \"op\" { " + text + ", apply = function() end }";
}

}  // namespace

TEST_CASE("the head of a script", "[script]") {
    const ScriptHeader h = header(kScript);
    CHECK(h.op == "rms_norm");
    CHECK(h.target == "cpu");
    CHECK(h.summary == "Plan in one line. And a second. A third.");
    CHECK(h.requires_features == std::vector<std::string>{"avx2"});
    CHECK(h.generator == std::map<std::string, std::string>{{"statistics", "one_pass"}, {"weights", "packed"}});
    REQUIRE(h.params.size() == 5);
    CHECK(value(h, "rows") == "4");
    CHECK(value(h, "guard") == "false");
    CHECK(value(h, "ratio") == "0.5");
    CHECK(h.params[0].name == "guard");  // in alphabetical order, generator parameters last
    CHECK(h.params[3].is_generator_param);
    CHECK(h.params[2].choices == std::vector<std::string>{"1", "4", "16"});
    CHECK(h.files.size() == 1);
}

TEST_CASE("--set chooses among the choices", "[script]") {
    const ScriptHeader h = header(kScript, setting("rows=1,statistics=two_pass,guard=true"));
    CHECK(value(h, "rows") == "1");
    CHECK(value(h, "guard") == "true");
    CHECK(h.generator.at("statistics") == "two_pass");

    CHECK(error(kScript, setting("rows=3")) == "script.lua:8: error: --set rows=3 is not among its choices \"1\", \"4\", \"16\"");
    CHECK(error(kScript, setting("row=1")) ==
          "script.lua:8: error: --set row: the schedule has no such parameter; it has \"guard\", \"ratio\", \"rows\", "
          "\"statistics\", \"weights\"\n  did you mean \"rows\"?");
    CHECK(error(kScript, setting("ratio=1")) ==
          "script.lua:8: error: --set ratio: its value is fixed in the script\n  write `ratio = tune { 0.5, 1 }`");
    CHECK(error(kScript, setting("statistics=three_pass")) ==
          "script.lua:8: error: --set statistics=three_pass is not among its choices \"one_pass\", \"two_pass\"");
    CHECK_THAT(error(kScript, setting("rows=")), Contains("--set rows= is not among its choices"));
    CHECK_THAT(error(kScript, setting("rows=4.0")), Contains("is not among its choices"));
}

TEST_CASE("What the caller gives the generator holds before where is asked", "[script]") {
    const std::string text = fields("generator = { form = tune { 'a', 'b' }, weights = 'kn' }, "
                                    "where = function(p) return p.form == 'b' end");
    CHECK_THAT(error(text), Contains("`where` rejects form=a"));
    ScriptOptions options;
    options.params = {{"form", "b"}, {"type", "float16"}};
    CHECK(value(header(text, options), "form") == "b");
    options.params = {{"form", "c"}};
    CHECK(error(text, options) == "script.lua:2: error: --param form=c: the schedule takes \"a\", \"b\"\n"
                                  "  take another schedule, or another value");
    options.set = {{"form", "b"}};
    CHECK(value(header(text, options), "form") == "b");
}

TEST_CASE("where and requires reject", "[script]") {
    CHECK_THAT(error(kScript, setting("rows=16")), Contains("script.lua:8: error: `where` rejects guard=false, ratio=0.5, rows=16"));
    ScriptOptions large = setting("rows=16");
    large.facts = {{"l2", "2M"}};
    CHECK(value(header(kScript, large), "rows") == "16");
    CHECK_THAT(error(kScript, setting("", "x86-64-linux-sse41")),
               Contains("this schedule requires avx2, which the target x86-64-linux-sse41 lacks"));
    CHECK(error(fields("where = function(p) return p.row end, params = { rows = 1 }")) ==
          "script.lua:2: error: there is no parameter \"row\"; params has \"rows\"\n  did you mean \"rows\"?");
    CHECK_THAT(error(fields("where = 1")), Contains("where is a function of the parameters"));
    CHECK_THAT(error(fields("requires = 'avx2'")), Contains("requires is a list of target features"));
    CHECK_THAT(error(fields("requires = { {} }")), Contains("requires is a list of target features"));
}

TEST_CASE("fields that are wrong", "[script]") {
    CHECK(error(fields("parms = {}")) ==
          "script.lua:2: error: a schedule has no field \"parms\"; its fields are \"apply\", \"generator\", \"params\", "
          "\"requires\", \"target\", \"versions\", \"where\"\n  did you mean \"params\"?");
    CHECK_THAT(error(fields("1")), Contains("a schedule has no field \"?\""));
    CHECK_THAT(error(fields("target = 'gpu'")), Contains("target is \"cpu\" or \"cuda\", not \"gpu\""));
    CHECK_THAT(error("return schedule \"op\" { }"), Contains("script.lua:1: error: apply is missing\n  add `apply ="));
    CHECK_THAT(error("return schedule \"op\" { apply = 1 }"), Contains("apply is missing"));
    CHECK_THAT(error("return schedule { apply = 1 }"), Contains("script.lua:1: error: bad argument #1 to 'schedule'"));
    CHECK_THAT(error("return schedule('op', {})"), Contains("write schedule \"op\" { ... }"));
    CHECK_THAT(error("return schedule \"op\" (1)"), Contains("table expected, got number"));
}

TEST_CASE("parameters that are wrong", "[script]") {
    CHECK_THAT(error(fields("params = { rows = { 1, 2 } }")), Contains("script.lua:2: error: rows is a plain table; write `tune { ... }`"));
    CHECK_THAT(error(fields("params = { 4 }")), Contains("params needs names, as in `rows = tune { 1, 4 }`"));
    CHECK_THAT(error(fields("params = 4")), Contains("params is a table of names and values"));
    CHECK_THAT(error(fields("params = { rows = print }")), Contains("rows is not a number, string, boolean or tune"));
    CHECK_THAT(error(fields("params = { rows = 1 }, generator = { rows = 1 }")),
               Contains("\"rows\" stands under params and under generator"));
    CHECK_THAT(error(fields("params = { rows = tune {} }")), Contains("script.lua:2: error: tune: needs at least one choice"));
    CHECK_THAT(error(fields("params = { rows = tune { 1, default = 2 } }")), Contains("tune: the default 2 is not among the choices"));
    CHECK_THAT(error(fields("params = { rows = tune { 1, {} } }")), Contains("tune: choice 2 is not a number, string or boolean"));
    CHECK_THAT(error(fields("params = { rows = tune(4) }")), Contains("script.lua:2: error: bad argument #1 to 'tune'"));
}

TEST_CASE("parameters reach apply as numbers, strings and booleans", "[script]") {
    const TempDir dir;
    const auto path = dir.write("script.lua", R"(
return schedule "op" {
  params = { n = tune { 1, 4, default = 4 }, f = 0.5, s = "x", b = tune { false, true }, text = "12ab" },
  apply = function(k, p, target)
    assert(math.type(p.n) == "integer" and p.n == 4)
    assert(p.f == 0.5 and p.s == "x" and p.b == false and p.text == "12ab")
    assert(target:lanes "f32" == 16 and target:lanes "bf16" == 32 and target:lanes "f64" == 8)
    assert(target:has "avx512_skylake" and not target:has "sve")
    assert(target.l1 == 32 * 1024 and target.l2 == 3 << 20 and target.processors == 7)
    assert(target.vector_bytes == 64 and target.vector_registers == 32 and target.bits == 64)
    assert(target.name == "x86-64-linux-avx512_skylake" and target.features.linux)
    k("ran")
  end,
})");
    ScriptOptions options = setting("", "x86-64-linux-avx512_skylake");
    options.facts = {{"l2", "3M"}, {"processors", "7"}};
    halyard::Script script(path, options);
    static std::string said;
    script.apply([](lua_State *L) {
        lua_pushcfunction(L, [](lua_State *L) -> int {
            said = lua_tostring(L, 1);
            return 0;
        });
    });
    CHECK(said == "ran");
}

TEST_CASE("versions of a schedule", "[script]") {
    const auto script_with = [](const std::string &versions) {
        return R"(return schedule "op" {
  target = "cuda",
  generator = { parts = tune { 1, 2, default = 1 } },
  params = { rows = tune { 1, 4, 16, default = 4 }, fixed = 3 },
  where = function(p) return p.rows ~= 1 end,
  versions = function(k, p, target) return )" +
               versions + R"( end,
  apply = function(k, p) k(p.rows) end,
})";
    };
    static std::vector<std::string> conditions, applied;
    const auto nothing = [](lua_State *L) {
        lua_pushcfunction(L, [](lua_State *L) -> int {
            applied.emplace_back(lua_tostring(L, 1));
            return 0;
        });
    };
    const auto field = [](lua_State *L, size_t version) {
        conditions.emplace_back(lua_type(L, -1) == LUA_TSTRING ? std::to_string(version) + lua_tostring(L, -1) : "?");
        return conditions.back() != "?";
    };
    const halyard::Script::VersionFields fields = {field, field};
    const auto versions = [&](const std::string &text) {
        const TempDir dir;
        conditions.clear();
        halyard::Script script(dir.write("script.lua", script_with(text)), {});
        return script.versions(nothing, fields);
    };
    using Version = halyard::Script::Version;
    CHECK(versions(R"({ { when = "short", rows = 4 }, { when = "long" }, { rows = 16 } })") ==
          std::vector<Version>{{{"rows", "4"}}, {}, {{"rows", "16"}}});
    CHECK(conditions == std::vector<std::string>{"0short", "1long"});
    CHECK(versions(R"({ { when = "short", cost = "a" }, { when = "short", cost = "b", rows = 16 }, { cost = "c" }, { cost = "d" } })") ==
          std::vector<Version>{{}, {{"rows", "16"}}, {}, {}});
    CHECK(conditions == std::vector<std::string>{"0a", "0short", "1b", "1short", "2c", "3d"});
    CHECK(versions("{ {} }") == std::vector<Version>(1));
    {
        const TempDir dir;
        halyard::Script plain(dir.write("script.lua", "return schedule \"op\" { apply = function(k) end }"), {});
        CHECK(plain.versions(nothing, fields) == std::vector<Version>(1));
        halyard::Script script(dir.write("versions.lua", script_with("{ {} }")), {});
        applied.clear();
        script.apply(nothing, {{"rows", "16"}});
        script.apply(nothing);
        CHECK(applied == std::vector<std::string>{"16", "4"});
    }

    const auto wrong = [&](const std::string &text) -> std::string {
        try {
            versions(text);
        } catch (const ScriptError &e) {
            return e.what();
        }
        return "no error";
    };
    CHECK_THAT(wrong("{}"), Contains("versions returns a list of versions, one at least"));
    CHECK_THAT(wrong("7"), Contains("versions returns a list of versions, one at least"));
    CHECK_THAT(wrong("{ 7 }"), Contains("a version is a table"));
    CHECK_THAT(wrong("{ { rows = 4 }, {} }"), Contains("all versions but the last have a condition"));
    CHECK_THAT(wrong("{ { when = true }, {} }"), Contains("all versions but the last have a condition"));
    CHECK_THAT(wrong("{ { when = 'short' } }"), Contains("all versions but the last have a condition"));
    CHECK_THAT(wrong("{ { cost = true }, { cost = 'a' } }"), Contains("the cost of a version is a number"));
    CHECK_THAT(wrong("{ { cost = 'a' }, {} }"), Contains("stands before one that no call takes"));
    CHECK_THAT(wrong("{ { cost = 'a' }, { when = 'short', cost = 'b' }, { cost = 'c' } }"),
               Contains("stands before one that no call takes"));
    CHECK_THAT(wrong("{ { lines = 4 } }"), Contains("a version sets \"lines\", which is not one of the params"));
    CHECK_THAT(wrong("{ { parts = 2 } }"), Contains("a version sets \"parts\", which is not one of the params"));
    CHECK_THAT(wrong("{ { rows = 5 } }"), Contains("a version sets rows=5, which is not among its choices"));
    CHECK_THAT(wrong("{ { rows = 1 } }"), Contains("`where` rejects"));
    CHECK_THAT(error("return schedule \"op\" { apply = function() end, versions = {} }"), Contains("versions is a function"));

    const auto on_host = [&](const std::string &versions) {
        const TempDir dir;
        std::string text = script_with(versions);
        text.replace(text.find("cuda"), 4, "cpu");
        halyard::Script script(dir.write("script.lua", text), {});
        return script.versions(nothing, fields);
    };
    CHECK(on_host("{ { rows = 16 } }") == std::vector<Version>{{{"rows", "16"}}});
    CHECK_THROWS_WITH(on_host("{ { when = 'short' }, {} }"), Contains("several versions are for CUDA"));
}

TEST_CASE("facts of targets", "[script]") {
    const auto lanes = [](const std::string &target) { return halyard::target_facts(target, {}).vector_bytes / 4; };
    CHECK(lanes("") == 4);
    CHECK(lanes("x86-64-linux-sse41") == 4);
    CHECK(lanes("x86-64-linux-avx2-fma-f16c") == 8);
    CHECK(lanes("x86-64-linux-avx2-avx512-avx512_skylake") == 16);
    CHECK(lanes("arm-64-linux") == 4);
    CHECK(halyard::target_facts("arm-64-linux", {}).vector_registers == 32);

    const auto wrong = [](const std::string &name, const std::string &text) -> std::string {
        ScriptOptions options;
        options.facts = {{name, text}};
        return error(kScript, options);
    };
    CHECK(wrong("l4", "1") ==
          "script.lua: error: there is no fact \"l4\"; the facts are \"l1\", \"l2\", \"l3\", \"multiprocessors\", \"processors\"");
    for (const char *text : {"", "M", "0", "-1", "2G", "1e6", "99999999999999999999"}) {
        CHECK_THAT(wrong("l2", text), Contains("the fact l2=" + std::string(text) + " is not a positive count"));
    }
    const std::string in_script = "x = target.l4";
    CHECK(failure_of_text(in_apply("local x = target.l4")).hint == "did you mean \"l1\"?");
    CHECK(failure_of_text(in_apply("local x = target:lanes 'float'")).line == 2);
    CHECK(failure_of_text(in_apply("local x = target.lanes('f32')")).line == 2);
    CHECK(failure_of_text(in_apply("local x = target.has()")).line == 2);
}

TEST_CASE("assignments", "[script]") {
    using Map = std::map<std::string, std::string>;
    CHECK(halyard::parse_assignments("") == Map{});
    CHECK(halyard::parse_assignments("a=1") == Map{{"a", "1"}});
    CHECK(halyard::parse_assignments("a:1,b:2") == Map{{"a", "1"}, {"b", "2"}});
    CHECK(halyard::parse_assignments("a=x:y") == Map{{"a", "x:y"}});
    CHECK(halyard::parse_assignments("a=") == Map{{"a", ""}});
    CHECK_THROWS_WITH(halyard::parse_assignments("a=1,b"), "\"b\" is not of the form name=value");
    CHECK_THROWS_WITH(halyard::parse_assignments("=1"), "\"=1\" is not of the form name=value");
}

TEST_CASE("the nearest name", "[script]") {
    using halyard::nearest;
    CHECK(nearest("sum_qs", {"sum_sq", "inv_rms"}) == "sum_sq");
    CHECK(nearest("sumsq", {"sum_sq", "inv_rms"}) == "sum_sq");
    CHECK(nearest("paralell", {"parallel", "partition"}) == "parallel");
    CHECK(nearest("vectorise", {"vectorize", "unroll"}) == "vectorize");
    CHECK(nearest("q", {"sum_sq", "inv_rms"}).empty());
    CHECK(nearest("", {"sum_sq"}).empty());
    CHECK(nearest(std::string(1 << 24, 'x'), {"sum_sq"}).empty());
}
