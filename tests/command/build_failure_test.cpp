// halyard build where it cannot succeed: one message, exit code 1, and what was there before stays.

#include <csignal>
#include <filesystem>
#include <map>

#include <catch2/catch.hpp>

#include "obedient_generator.h"
#include "support.h"

namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string> snapshot(const std::string &folder) {
    std::map<std::string, std::string> files;
    for (const auto &name : names_in(folder)) {
        files[name] = fs::is_directory(folder + "/" + name) ? "(folder)" : read_file(folder + "/" + name);
    }
    return files;
}

// A folder "out" with an earlier library of rms_norm.
struct Built {
    Built() {
        schedule = write_schedule(folder / "good.lua");
        REQUIRE(run({"build", "rms_norm", "--target", "avx2", "--schedule", schedule, "-o", out}).exit_code == 0);
        before = snapshot(out);
    }
    Folder folder;
    std::string out = folder / "out", schedule;
    std::map<std::string, std::string> before;
};

}  // namespace

TEST_CASE("A wrong schedule", "[build_failure]") {
    const Built built;
    const std::string wrong = write_wrong_schedule(built.folder / "wrong.lua");
    const ProcessResult r = run({"build", "rms_norm", "--schedule", wrong, "-o", built.out, "--depfile", built.folder / "d"});
    CHECK(r.exit_code == 1);
    CHECK(r.out == "");
    CHECK(halyard::starts_with(r.err, wrong + ":8: error: "));
    CHECK(contains(r.err, "did you mean \"inv_rms\"?"));
    CHECK(snapshot(built.out) == built.before);
    CHECK_FALSE(fs::exists(built.folder / "d"));
}

TEST_CASE("A schedule of another op or another machine", "[build_failure]") {
    const Built built;
    const ProcessResult r = run({"build", "softmax", "--schedule", built.schedule, "-o", built.out});
    CHECK(r.exit_code == 1);
    CHECK(contains(r.err, "this schedule is for \"rms_norm\", not for \"softmax\""));
    CHECK(snapshot(built.out) == built.before);
}

TEST_CASE("A destination that cannot be one", "[build_failure]") {
    const Built built;
    write_file(built.folder / "file", "");
    fs::create_directories(built.folder / "taken/rms_norm.a");
    const auto fails = [&](const std::string &destination, const std::string &reason) {
        const ProcessResult r = run({"build", "rms_norm", "--target", "avx2", "-o", destination});
        INFO(r.err);
        CHECK(r.exit_code == 1);
        CHECK(r.out == "");
        CHECK(halyard::starts_with(r.err, destination));
        CHECK(contains(r.err, ": error: "));
        CHECK(contains(r.err, reason));
    };
    fails(built.folder / "file", "Not a directory");
    fails(built.folder / "file/below", "Not a directory");
    fails("/proc/nowhere", "no directory can be made there");  // read-only, for root as well
    fails(built.folder / "taken", "there is a folder of this name");
    CHECK(names_in(built.folder / "taken") == Arguments{"rms_norm.a"});

    const ProcessResult r = run({"build", "rms_norm", "--target", "avx2", "-o", built.folder / "other", "--depfile", "/proc/nowhere/d"});
    CHECK(r.exit_code == 1);
    CHECK(contains(r.err, "/proc/nowhere/d"));
}

TEST_CASE("A make rule that cannot be written", "[build_failure]") {
    const Built built;
    fs::create_directory(built.folder / "taken");
    for (const std::string &depfile : {built.folder / "taken", built.folder / "no/where", built.out + "/rms_norm.h"}) {
        const ProcessResult r = run({"build", "rms_norm", "--target", "avx2", "--set", "rows=1", "-o", built.out, "--depfile", depfile});
        INFO(r.err);
        CHECK(r.exit_code == 1);
        CHECK(r.out == "");
        CHECK(halyard::starts_with(r.err, depfile + ": error: "));
        CHECK(snapshot(built.out) == built.before);
    }
}

// RLIMIT_FSIZE with its signal ignored makes a write fail as a full disk does.
TEST_CASE("A disk that is full", "[build_failure]") {
    const Built built;
    for (const std::string signal : {"", "trap '' XFSZ; "}) {
        for (const std::string blocks : {"1", "8"}) {
            const ProcessResult r =
                run_shell(signal + "ulimit -f " + blocks + "; exec \"$halyard\" build rms_norm --target avx2 --set rows=1 -o " + built.out);
            INFO(signal << blocks << ": " << r.err);
            CHECK(r.exit_code == 1);
            CHECK(r.out == "");
            CHECK(contains(r.err, "error: "));
            CHECK(snapshot(built.out) == built.before);
        }
    }
}

// Halide writes listings without a look at what comes of it; whole_writes.c ends it.
TEST_CASE("A listing is whole or not there", "[build_failure]") {
    const Folder folder;
    const ProcessResult r = run_shell("trap '' XFSZ; ulimit -f 8; HALYARD_CONFINE=on exec \"$halyard\" build attention --target avx2 "
                                      "--schedule none --emit stmt -o " +
                                      (folder / "out"));
    INFO(r.err);
    CHECK(r.exit_code == 1);
    CHECK(contains(r.err, "a file cannot be written: File too large"));
    CHECK(names_in(folder / "out") == Arguments{});
}

TEST_CASE("A full disk is the fault of its folder", "[build_failure]") {
    const Folder folder;
    const ObedientGenerator generator(folder);
    generator.build_once("old");
    const auto before = snapshot(generator.out());
    const ProcessResult r =
        run(generator.arguments("new", "echo 'LLVM ERROR: IO failure on output stream: No space left on device' >&2; exit 1"));
    CHECK(r.exit_code == 1);
    CHECK(halyard::starts_with(r.err, generator.out() + ": error: No space left on device\n  free some there"));
    CHECK(snapshot(generator.out()) == before);
}

TEST_CASE("Standard output that cannot be written is one error", "[build_failure]") {
    for (const std::string arguments : {"list", "list --json", "list --markdown", "version", "--version", "--help",
                                        "check '" HALYARD_SOURCE "/schedules/cpu/rms_norm.lua' --target avx2"}) {
        const ProcessResult r = run_shell("exec \"$halyard\" " + arguments + " >/dev/full");
        INFO(arguments);
        CHECK(r.exit_code == 1);
        CHECK(r.err == "standard output: error: cannot be written: No space left on device\n");
    }
    CHECK(run_shell("exec \"$halyard\" list >&-").err == "standard output: error: cannot be written: Bad file descriptor\n");
}

TEST_CASE("Standard error that cannot be written changes nothing", "[build_failure]") {
    CHECK(run_shell("exec \"$halyard\" biuld 2>/dev/full").exit_code == 2);
    CHECK(run_shell("exec \"$halyard\" check nowhere.lua 2>/dev/full").exit_code == 1);
}

TEST_CASE("A generator that does not end is stopped, with all that it started", "[build_failure]") {
    const Folder folder;
    const ObedientGenerator generator(folder);
    generator.build_once("old");
    const auto before = snapshot(generator.out());
    const ProcessResult r = run(generator.arguments("new", "sleep", {"--timeout", "0.5"}));
    CHECK(r.exit_code == 1);
    CHECK(r.out == "");
    CHECK(contains(r.err, "ran longer than 0.5 s and was stopped"));
    CHECK(snapshot(generator.out()) == before);
    CHECK(generator.is_gone());
}

TEST_CASE("A generator that dies", "[build_failure]") {
    const Folder folder;
    const ObedientGenerator generator(folder);
    generator.build_once("old");
    const auto before = snapshot(generator.out());
    for (const std::string end : {"kill -SEGV $$", "kill -KILL $$", "echo no such thing >&2; exit 3"}) {
        const ProcessResult r = run(generator.arguments("new", end));
        INFO(r.err);
        CHECK(r.exit_code == 1);
        CHECK(r.out == "");
        CHECK(contains(r.err, end[0] == 'k' ? "was ended by signal" : "no such thing"));
        CHECK(snapshot(generator.out()) == before);
    }
}

TEST_CASE("A generator that is none", "[build_failure]") {
    const Folder folder;
    write_file(folder / "text", "not a program\n");
    const ProcessResult missing = run({"build", "x", "--generator", folder / "nowhere", "--schedule", "none"});
    CHECK(missing.exit_code == 1);
    CHECK(contains(missing.err, "there is no such generator executable"));
    const ProcessResult text = run({"build", "x", "--generator", folder / "text", "--schedule", "none", "-o", folder / "out"});
    CHECK(text.exit_code == 1);
    CHECK(contains(text.err, "cannot be started: Permission denied"));
    CHECK(names_in(folder / "out") == Arguments{});
}
