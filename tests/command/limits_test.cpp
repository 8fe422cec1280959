// Scripts and compilers that take too much: each is stopped, and the message says which limit, and where.

#include <chrono>
#include <filesystem>

#include <catch2/catch.hpp>

#include "obedient_generator.h"
#include "support.h"
#include "kernel/failure.h"
#include "kernel/json_text.h"

namespace {

namespace fs = std::filesystem;

void write_program(const std::string &path, const std::string &text) {
    fs::create_directories(fs::path(path).parent_path());
    write_file(path, "#!/bin/sh\n" + text + "\n");
    fs::permissions(path, fs::perms::owner_all);
}

// A schedule with these statements in line 3.
std::string write_apply(const std::string &path, const std::string &statements) {
    write_file(path, "return schedule \"rms_norm\" { target = \"cpu\", apply = function(k, p, target)\n"
                     "  k.inv_rms:compute_root()\n  " +
                         statements + "\nend }\n");
    return path;
}

ProcessResult build(const std::string &schedule, const std::string &out, const std::vector<std::string> &environment = {},
                    const Arguments &more = {}) {
    Arguments a = {"build", "rms_norm", "--target", "avx2", "--schedule", schedule, "-o", out};
    a.insert(a.end(), more.begin(), more.end());
    const ProcessResult r = run(a, environment);
    CHECK(r.exit_code == 1);
    CHECK(r.out == "");
    return r;
}

}  // namespace

TEST_CASE("A head that never ends", "[limits]") {
    const Folder folder;
    const std::string script = folder / "endless.lua";
    write_file(script, "local x = 0\nwhile true do x = x + 1 end\n");
    const auto begin = std::chrono::steady_clock::now();
    const ProcessResult r = build(script, folder / "out", {}, {"--timeout", "0.5"});
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(3));
    CHECK(contains(r.err, script + ":2: error: the script did not finish within "));
    CHECK(contains(r.err, " 0.4 seconds of the processor or 0.4 of the clock"));
}

TEST_CASE("What a head prints comes through, without control characters", "[limits]") {
    const Folder folder;
    const std::string script = folder / "talks.lua";
    write_file(script, "print('good \\27[31mday')\nerror 'enough'\n");
    const ProcessResult r = run({"check", script});
    CHECK(r.exit_code == 1);
    CHECK(halyard::starts_with(r.err, "good ?[31mday\n"));
    CHECK(contains(r.err, script + ":2: error: enough"));
}

// Whatever a script may find in the sandbox, it is in a process that the command outlives.
TEST_CASE("The reader of heads hangs or dies", "[limits]") {
    const Folder folder;
    const std::string script = write_apply(folder / "good.lua", "");
    const std::vector<std::string> environment = {"HALYARD_ROOT=" + folder.path()};
    const auto fails = [&](const std::string &reader, const std::string &reason) {
        write_program(folder / "bin/halyard-heads", reader);
        const auto begin = std::chrono::steady_clock::now();
        const ProcessResult r = run({"check", script, "--timeout", "0.5"}, environment);
        INFO(r.err);
        CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(3));
        CHECK(r.exit_code == 1);
        CHECK(contains(r.err, ": error: " + reason));
    };
    fails("sleep 10", "its head was not read within 0.5 s");
    fails("kill -SEGV $$", "the process that reads its head was ended by signal 11");
    fails("kill -XCPU $$", "its head took more processor time than the 5 s that a script has");
    fails("echo std::bad_alloc >&2; kill -ABRT $$", "its head needs more than 512 MiB of memory");
    fails("exit 0", "gave no answer");
}

TEST_CASE("A list of schedules of which one ends its reader", "[limits]") {
    const Folder folder;
    // Of the heads that are asked for, it answers the first, and then ends; of one that is left, nothing.
    write_program(folder / "bin/halyard-heads",
                  "echo '{\"head\":{\"op\":\"rms_norm\",\"target\":\"cpu\",\"line\":1,\"summary\":\"The first.\",\"params\":[],"
                  "\"generator\":{},\"requires\":[],\"files\":[]}}'\nkill -SEGV $$");
    for (const char *name : {"rms_norm", "rms_norm.a", "rms_norm.b"}) {
        fs::create_directories(folder / "share/halyard/schedules/cpu");
        write_apply(folder / "share/halyard/schedules/cpu" + ("/" + std::string(name)) + ".lua", "");
    }
    const ProcessResult r = run({"list", "--json"}, {"HALYARD_ROOT=" + folder.path()});
    INFO(r.out << r.err);
    CHECK(count(r.out, "The first.") == 2);
    CHECK(count(r.out, "(does not load: ") == 1);
}

TEST_CASE("More code than a compiler gets to the end of", "[limits]") {
    const Folder folder;
    const std::string script = folder / "large.lua";
    const auto fails = [&](const std::string &directives, const std::string &message) {
        write_apply(script, "k.y:" + directives);
        const auto begin = std::chrono::steady_clock::now();
        const ProcessResult r = build(script, folder / "out");
        INFO(r.err);
        CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
        CHECK(contains(r.err, script + ":3: error: unroll: " + message));
    };
    for (const std::string number : {"1000000000", "100000"}) {
        fails("unroll(\"col\", " + number + ", \"guard\")", "the argument \"factor\" is " + number + ", but must be from 1 to 4096");
        fails("bound(\"col\", 0, " + number + "):unroll(\"col\")", "the loop \"col\" of y is written out " + number + " times");
    }
}

TEST_CASE("A compiler without enough memory", "[limits]") {
    const Folder folder;
    const ObedientGenerator generator(folder);
    const std::string greedy = "head -c 200000000 /dev/zero | tail -c 200000000 >/dev/null || exit 1; "
                               "head -c 200000000 /dev/zero | tail -c 200000000 >&2";
    const ProcessResult r = run(generator.arguments("new", "out=$(" + greedy + ") || exit 1"), {"HALYARD_COMPILER_MEMORY=64M"});
    INFO(r.err.substr(0, 2000));
    CHECK(r.exit_code == 1);
    CHECK(contains(r.err, "error: the generator needs more than the 0.0625 GiB of memory that it has (HALYARD_COMPILER_MEMORY)"));
    const ProcessResult wrong = run(generator.arguments("new"), {"HALYARD_COMPILER_MEMORY=many"});
    CHECK(wrong.exit_code == 2);
    CHECK(contains(wrong.err, "HALYARD_COMPILER_MEMORY is \"many\"; write a size as 8G or 512M"));
}

// By the command, which has no limit of memory.
TEST_CASE("What a generator leaves is read within bounds", "[limits]") {
    const Folder folder;
    const ObedientGenerator generator(folder);
    for (const char *file : {".report.json", ".report.json.last", "op.h"}) {
        const ProcessResult r = run(generator.arguments("new", std::string("head -c 70000000 /dev/zero >>$out/") + file));
        INFO(r.err);
        CHECK(r.exit_code == 1);
        CHECK(contains(r.err, std::string(file) + ": error: is larger than 64 MiB"));
    }
    std::string values = "[0";
    for (int i = 0; i < 4'000'000; i++) {
        values += ",0";
    }
    CHECK_FALSE(halyard::parse_if_json("[0,{\"a\":[1]}]").is_discarded());
    CHECK(halyard::parse_if_json(values + "]").is_discarded());
    CHECK_THROWS_AS(halyard::parse_json(values + "]"), halyard::Failure);
}

TEST_CASE("What a script printed before its compiler died is cut", "[limits]") {
    const Folder folder;
    const std::string script =
        write_apply(folder / "talks.lua", "for i = 1, 2 do print(string.format('%q', string.rep('\\1', 200000))) end");
    const Unconfined unconfined;  // crash.sh starts another program
    write_program(folder / "crash.sh", "\"" HALYARD_GENERATORS "\" \"$@\"; kill -SEGV $$");
    const ProcessResult r = build(script, folder / "out", {}, {"--generator", folder / "crash.sh"});
    INFO(r.err.substr(0, 8000));
    CHECK(r.err.size() < 8000);
    CHECK(contains(r.err, "the generator was ended by signal 11"));
    CHECK(contains(r.err, " bytes are left out here ..."));
    CHECK(contains(r.err, "what each directive does: halyard show rms_norm --schedule "));
}

// The real generator does all of its work, and then dies.
TEST_CASE("A crash of the compiler names the directives to look at", "[limits]") {
    const Folder folder;
    const std::string script = write_apply(folder / "large.lua", "k.y:unroll(\"col\", 128, \"guard\")\n  k.y:parallel(\"row\")");
    const Unconfined unconfined;  // crash.sh starts another program
    write_program(folder / "crash.sh", "\"" HALYARD_GENERATORS "\" \"$@\"; kill -SEGV $$");
    const ProcessResult r = build(script, folder / "out", {}, {"--generator", folder / "crash.sh"});
    CHECK(halyard::starts_with(r.err, script + ":3: error: the generator was ended by signal 11"));
    CHECK(contains(r.err, "the directive that was applied last is parallel of y (" + script + ":4)"));
    CHECK(contains(r.err, "unusually large: the loop \"col\" of y"));
    CHECK(contains(r.err, "\"col\" of y is written out 128 times (" + script + ":3: unroll)"));
    CHECK(contains(r.err, "halyard show rms_norm --schedule " + script + " --step"));
    const ProcessResult shown =
        run({"show", "rms_norm", "--target", "avx2", "--schedule", script, "--step", "--generator", folder / "crash.sh"});
    CHECK(shown.exit_code == 1);
    CHECK(contains(shown.out, "unroll:  k.y:unroll(\"col\", 128, \"guard\")"));
    CHECK(names_in(folder / "out").empty());
}
