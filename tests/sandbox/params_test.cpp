// Whatever a script, a record or an argument says becomes a parameter that the generator declares, or an error.

#include <catch2/catch.hpp>

#include "tests/command/support.h"
#include "explore/store/database.h"
#include "kernel/failure.h"
#include "language/lua_text.h"
#include "kernel/param_value.h"
#include "explore/store/pick.h"

using namespace halyard;
using Catch::Matchers::Contains;

namespace {

std::string script_with(const Folder &folder, const std::string &generator) {
    const std::string path = folder / "script.lua";
    write_file(path, "-- Of a stranger.\nreturn schedule \"rms_norm\" {\n  target = \"cpu\",\n  generator = { " + generator +
                         " },\n  apply = function(k) end,\n}\n");
    return path;
}

}  // namespace

TEST_CASE("What a script says of its generator is no setting and no option", "[params]") {
    const Folder folder;
    const std::string victim = folder / "victim";
    for (const std::string &generator :
         {"[\"autoscheduler.describe\"] = \"" + victim + "\"", "[\"autoscheduler.report\"] = \"" + victim + "\"",
          "[\"autoscheduler.request\"] = \"" + victim + "\"", std::string("autoscheduler = \"Adams2019\""),
          std::string("target = \"arm-64-linux\""), std::string("[\"-o\"] = \"/\""), std::string("[\"-p\"] = \"x\""),
          std::string("[\"\"] = \"x\""), std::string("[\"type\\0x\"] = \"float16\""), std::string("[\"type x\"] = \"float16\""),
          std::string("type = \"float16\\nautoscheduler.script=x\""), std::string("type = \"float16 target=host\""),
          std::string("type = \"float16=x\""), std::string("type = 3"), std::string("type = \"int1\""),
          std::string("add_residual = \"yes\""), std::string("output = \"same*/\""), std::string("[\"x.type\"] = \"float16\"")}) {
        const std::string script = script_with(folder, generator);
        const ProcessResult r = run({"build", "rms_norm", "--schedule", script, "--target", "avx2", "-o", folder / "out"});
        INFO(generator << "\n" << r.err);
        CHECK(r.exit_code == 1);
        CHECK_THAT(r.err, Contains(script + ":2: error: "));
        CHECK(r.err.find("internal error") == std::string::npos);
        CHECK_FALSE(std::filesystem::exists(victim));
        CHECK((!std::filesystem::exists(folder / "out") || names_in(folder / "out").empty()));
    }
    const ProcessResult r = run({"build", "rms_norm", "--schedule", script_with(folder, "tpye = \"float16\""), "-o", folder / "out"});
    CHECK_THAT(r.err, Contains("script.lua:2: error: the schedule's generator parameter tpye=float16: rms_norm has no such parameter; "
                               "it has \"type\", ") &&
                          Contains("did you mean \"type\"?"));
}

TEST_CASE("So are those of a command line and of CMake", "[params]") {
    const Folder folder;
    for (const std::string &param :
         {"autoscheduler.describe=" + (folder / "victim"), std::string("target=arm-64-linux"), std::string("type=float16;target=host"),
          std::string("type=float16\ntarget=host"), std::string("-o=/"), std::string("z.type=float16"), std::string("type=bfloat61")}) {
        const ProcessResult r = run({"build", "rms_norm", "--param=" + param, "--target", "avx2", "-o", folder / "out"});
        INFO(param << "\n" << r.err);
        CHECK(r.exit_code == 1);
        CHECK_THAT(r.err, Contains("--param "));
        CHECK_FALSE(std::filesystem::exists(folder / "victim"));
        CHECK((!std::filesystem::exists(folder / "out") || names_in(folder / "out").empty()));
    }
}

TEST_CASE("Values are those of a parameter's type", "[params]") {
    struct Case {
        const char *type, *good, *bad;
    };
    for (const Case &c : {Case{"int32_t", "-2147483648", "2147483648"},
                          Case{"int8_t", "-128", "128"},
                          Case{"uint8_t", "255", "-1"},
                          Case{"uint16_t", "65535", "65536"},
                          Case{"int64_t", "-9223372036854775808", "9223372036854775808"},
                          Case{"uint64_t", "18446744073709551615", "18446744073709551616"},
                          Case{"int32_t", "7", "7 "},
                          Case{"int32_t", "0", ""},
                          Case{"float", "-1.5e-3", "1.5f"},
                          Case{"double", ".5", "nan"},
                          Case{"float", "1", "0x1p3"},
                          Case{"Type", "uint16", "uint17"},
                          Case{"std::string", "scale,bias", "a\nb"},
                          Case{"std::string", "b", "a\\"},
                          Case{"std::string", "a", ""},
                          Case{"std::string", "a/b", "a*/b"},
                          Case{"std::string", "f(x) + 1", "\"a\""},
                          Case{"std::string", "a", "\x1b[2J"},
                          Case{"std::string", "a", "caf\xc3\xa9"},
                          Case{"std::string", "a", "a=b"}}) {
        INFO(c.type << " " << c.good << " " << c.bad);
        CHECK(why_no_value({"p", {}, "", c.type}, c.good) == "");
        CHECK(why_no_value({"p", {}, "", c.type}, c.bad) != "");
    }
    const GeneratorParam choice{"form", {"one", "two"}, "one", "Enum_form"};
    CHECK(why_no_value(choice, "two") == "");
    CHECK(why_no_value(choice, "three") == "\"one\", \"two\"");
}

TEST_CASE("A record names no files and no settings", "[params]") {
    using namespace explore;
    const Folder folder;
    Entry good;
    good.key.op = "rms_norm";
    good.candidate.lua = "return schedule \"rms_norm\" { apply = function(k) end }\n";
    good.candidate.params = {{"type", "float16"}};
    good.measured.status = Status::kOk;
    good.measured.least = 1;
    Database database(folder / "s.db");
    CHECK(database.insert({good}) == 1);
    std::vector<Entry> bad(4, good);
    bad[0].key.op = "../../" + folder.path() + "/victim";
    bad[1].key.generator = "/bin/sh";
    bad[2].candidate.params = {{"autoscheduler.describe", folder / "victim"}};
    bad[3].candidate.params = {{"type", "float16\nx"}};
    for (const Entry &e : bad) {
        CHECK_THROWS_AS(database.insert({e}), Failure);
        CHECK_THROWS_AS(entry_from_json(explore::to_json(e)), Failure);
        CHECK_THROWS_AS(script_file(e), Failure);
    }
    CHECK(database.entries({}).size() == 1);
}

TEST_CASE("Texts are quoted in the Lua that a search writes", "[params]") {
    CHECK(in_quotes("a\"b\\c\nd\x01") == "\"a\\\"b\\\\c\\010d\\001\"");
    CHECK(lua_field_of_k("a\"] os.exit() --") == "k[\"a\\\"] os.exit() --\"]");
    const std::string head = lua_head("op\"", "cpu", {"one\nerror()"}, {{"a-b", "x\"y"}}, "k");
    CHECK_THAT(head, Contains("-- one error()\n") && Contains("schedule \"op\\\"\"") && Contains("[\"a-b\"] = \"x\\\"y\""));
}

TEST_CASE("A setting in a generated header stays in its comment", "[params]") {
    const Folder folder;
    const std::string script = folder / "own.lua";
    write_file(script, R"(return schedule "rms_norm" {
  target = "cpu",
  params = { a = tune { "x", "x\\", "w??/", "*/ int i; /*" } },
  apply = function() end,
})");
    for (const std::string &value : {std::string("x\\"),
                                     std::string("w?"
                                                 "?/"),
                                     std::string("*/ int i; /*")}) {
        INFO(value);
        const ProcessResult r = run({"build", "rms_norm", "--schedule", script, "--set", "a=" + value, "--target", "avx2", "--emit",
                                     "schedule,static_library", "-o", folder / "out"});
        REQUIRE(r.exit_code == 0);
        const std::string header = read_file(folder / "out/rms_norm.schedule.h");
        const size_t at = header.find("// with autoscheduler_params=autoscheduler=Lua set=a:");
        REQUIRE(at != std::string::npos);
        CHECK(header.substr(at, header.find('\n', at) - at).find_first_of("\\?*\"#") == std::string::npos);
    }
}
