// halyard check: several scripts, good ones and bad ones.

#include <filesystem>

#include <catch2/catch.hpp>

#include "support.h"

TEST_CASE("Good and bad scripts in one run", "[check]") {
    const Folder folder;
    const std::string good = write_schedule(folder / "good.lua"), wrong = write_wrong_schedule(folder / "wrong.lua");
    write_file(folder / "syntax.lua", "-- two lines\nreturn schedule \"rms_norm\" { target = = }\n");
    write_file(folder / "op.lua", "return schedule \"rms_nrom\" { target = \"cpu\", apply = function() end }\n");
    const Arguments what = {"check", good, wrong, folder / "syntax.lua", folder / "op.lua", folder / "nowhere.lua", good};

    const ProcessResult r = run(what);
    CHECK(r.exit_code == 1);
    CHECK(r.out == good + ": ok\n" + good + ": ok\n");
    CHECK(contains(r.err, wrong + ":8: error: "));
    CHECK(contains(r.err, "did you mean \"inv_rms\"?"));
    CHECK(contains(r.err, folder / "syntax.lua:2: error: "));
    CHECK(contains(r.err, folder / "op.lua"));
    CHECK(contains(r.err, "did you mean \"rms_norm\"?"));
    CHECK(contains(r.err, folder / "nowhere.lua: error: there is no such file"));

    const nlohmann::json records = run_json(what, 1);
    REQUIRE(records.size() == 6);
    const std::vector<bool> expected = {true, false, false, false, false, true};
    for (size_t i = 0; i < records.size(); i++) {
        const nlohmann::json &record = records[i];
        INFO(record.dump());
        CHECK(record.at("script") == what[i + 1]);
        CHECK(record.at("ok") == expected[i]);
        CHECK(record.at("error").is_null() == expected[i]);
        CHECK(record.size() == 6);  // and op, target and notes
        if (!expected[i]) {
            CHECK(contains(r.err, record.at("error").at("text")));
        }
    }
    CHECK(records[1].at("error").at("line") == 8);
    CHECK(records[2].at("error").at("line") == 2);
    CHECK(records[0].at("op") == "rms_norm");
    CHECK(contains(records[0].at("target"), "avx2"));
}

TEST_CASE("An op means all of its schedules, and they are right", "[check]") {
    const ProcessResult r = run({"check", "rms_norm"});
    CHECK(r.exit_code == 0);
    CHECK(r.err == "");
    CHECK(contains(r.out, "/rms_norm.lua: ok\n"));
    CHECK(contains(r.out, "/rms_norm.unfused.lua: ok\n"));
}

TEST_CASE("Numbers with which Halide leaves 32 bits have a line: that of the largest", "[check]") {
    const Folder folder;
    const std::string script = folder / "large.lua";
    for (const char *words :
         {"k.row_max:bound('row', 2147483647, 2147483647)", "k.y:dim(1):set_min(50000):set_stride(1):set_stride(100000)"}) {
        write_file(script, std::string("return schedule \"softmax\" { target = \"cpu\", apply = function(k)\n"
                                       "  k.row_max:compute_root()\n  k.row_sum:compute_root()\n  ") +
                               words + "\n  k.y:split('col', 16)\nend }\n");
        INFO(words);
        CHECK(contains(run({"check", script, "--target", "avx2"}).err, "large.lua:4: error: "));
    }
}

TEST_CASE("Every target is checked", "[check]") {
    const Folder folder;
    const std::string script = folder / "narrow.lua";
    write_file(script, "return schedule \"rms_norm\" { target = \"cpu\", apply = function(k, p, target)\n"
                       "  if target:has \"avx512_skylake\" then k.y:paralel(\"row\") end\n"
                       "end }\n");
    CHECK(run({"check", script, "--target", "avx2"}).exit_code == 0);
    const ProcessResult r = run({"check", script, "--target", "avx2,avx512"});
    CHECK(r.exit_code == 1);
    CHECK(contains(r.err, script + ":2: error: "));
    CHECK(contains(r.err, "did you mean \"parallel\"?"));
}

TEST_CASE("A check leaves nothing behind", "[check]") {
    const Folder folder;
    write_schedule(folder / "s.lua");
    const ProcessResult r = run_shell("cd '" + folder.path() + "' && TMPDIR=. \"$halyard\" check s.lua");
    CHECK(r.exit_code == 0);
    CHECK(r.out == "s.lua: ok\n");
    CHECK(names_in(folder.path()) == Arguments{"s.lua"});
}

TEST_CASE("An input is brought to the cache before a kernel waits, and nothing that is computed", "[check]") {
    const Folder folder;
    const auto check = [&](const std::string &func) {
        const std::string script = folder / "s.lua";
        write_file(script, "return schedule \"rms_norm\" {\n  target = \"cuda\",\n  apply = function(k)\n    k." + func +
                               ":prefetch_at_launch()\n    k.y:gpu_single_thread()\n  end,\n}\n");
        return run({"check", script, "--target", "cuda", "--devices", "emulator", "--no-lint"});
    };
    const ProcessResult computed = check("y");
    CHECK(computed.exit_code == 1);
    CHECK(contains(computed.err, "s.lua:4: error: prefetch_at_launch: is for an input, and y is computed"));
    CHECK_FALSE(contains(check("weight").err, "prefetch_at_launch"));
}
