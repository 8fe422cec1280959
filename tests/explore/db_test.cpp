// halyard db, and what halyard build takes from the database.

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "explore/store/database.h"
#include "fake_generator.h"

using namespace halyard::explore;

namespace {

constexpr const char *kShape = "rows=8,cols=100";

Task task_of(const std::string &op = "rms_norm") {
    Task t;
    t.op = op;
    t.shape = {{"rows", 8}, {"cols", 100}};
    return t;
}

Measured timed(double seconds) {
    Measured m;
    m.status = Status::kOk;
    m.least = m.lower = m.median = m.upper = seconds;
    m.whole = true;
    m.reference = "rms_norm.unfused";
    return m;
}

Measured crashed() {
    Measured m;
    m.status = Status::kCrash;
    m.message = "the process was ended by signal 11\n  and more";
    return m;
}

Candidate right(const Folder &folder) {
    Candidate c;
    c.lua = read_file(write_schedule(folder / "right.lua"));
    c.origin = "by hand";
    return c;
}

}  // namespace

TEST_CASE("db lists, shows, exports, imports, merges and prunes", "[db]") {
    const Folder folder;
    const std::string path = folder / "s.db";
    const Candidate c = right(folder);
    {
        Database db(path);
        db.record(task_of(), c, timed(5e-6));
        db.record(task_of(), FakeGenerator::candidate("right", 1), timed(7e-6));
        db.record(task_of(), FakeGenerator::candidate("crash"), crashed());
        db.record(task_of("softmax"), FakeGenerator::candidate("right", 2), timed(9e-6));
    }
    const ProcessResult list = run({"db", "list", "rms_norm", "--db", path});
    INFO(list.out + list.err);
    CHECK(list.exit_code == 0);
    CHECK(contains(line_of(list.out, 2), c.id()));
    CHECK(contains(line_of(list.out, 2), "5.00 us"));
    CHECK(contains(line_of(list.out, 3), "7.00 us"));
    CHECK(line_of(list.out, 4).empty());
    CHECK_FALSE(contains(list.out, "stale"));
    const std::string all = run({"db", "list", "--all", "--db", path}).out;
    CHECK(contains(all, "crash"));
    CHECK(contains(all, "was ended by signal 11"));
    CHECK_FALSE(contains(all, "and more"));
    CHECK(contains(all, "softmax"));
    CHECK(run_json({"db", "list", "--best", "1", "--db", path}).size() == 2);
    // By the environment too.
    CHECK(run({"db", "list"}, {"HALYARD_DB=" + path}).out == run({"db", "list", "--db", path}).out);
    CHECK(contains(run({"db", "list"}, {"HALYARD_DB=", "XDG_DATA_HOME=" + folder.path()}).err, folder / "halyard/schedules.db"));

    const ProcessResult shown = run({"db", "show", c.id().substr(0, 9), "--db", path});
    CHECK(shown.out == c.lua);
    CHECK(contains(shown.err, "5.00 us"));
    CHECK(contains(run({"db", "show", "nothing", "--db", path}).err, "has no schedule \"nothing\""));
    CHECK(contains(run({"db", "list", "--db", folder / "none.db"}).err, "there is no database"));

    const std::string lines = folder / "all.jsonl", copy = folder / "copy.db", merged = folder / "merged.db";
    CHECK(run({"db", "export", "--db", path, "-o", lines}).exit_code == 0);
    CHECK(run({"db", "import", lines, "--db", copy}).out == "4 of 4 were new or faster in " + copy + "\n");
    CHECK(run({"db", "import", lines, "--db", copy}).out == "0 of 4 were new or faster in " + copy + "\n");
    CHECK(run({"db", "export", "--db", copy}).out.size() == read_file(lines).size());
    CHECK(contains(run({"db", "merge", path, copy, "--db", merged}).out, "were new or faster"));
    CHECK(run_json({"db", "list", "--all", "--db", merged}).size() == 4);
    // All of a file or nothing.
    write_file(lines, read_file(lines) + "{\"key\": 1}\n");
    const ProcessResult wrong = run({"db", "import", lines, "--db", folder / "untouched.db"});
    CHECK(wrong.exit_code == 1);
    CHECK(contains(wrong.err, lines + ":5: error: this is no record"));
    CHECK_FALSE(std::filesystem::exists(folder / "untouched.db"));

    CHECK(run({"db", "prune", "--db", merged}).exit_code == 2);
    CHECK(contains(run({"db", "prune", "--failed", "--db", merged}).out, "1 of 4 removed, 3 are left"));
    CHECK(contains(run({"db", "prune", "--keep", "1", "--db", merged}).out, "1 of 3 removed, 2 are left"));
    CHECK(contains(run({"db", "prune", "--stale", "--db", merged}).out, "0 of 2 removed"));
    CHECK(run_json({"db", "list", "--all", "--db", merged}).size() == 2);
    CHECK(run({"db"}).exit_code == 2);
}

TEST_CASE("build takes the best schedule for a size, and says so", "[db]") {
    const Folder folder;
    const std::string path = folder / "s.db";
    const Candidate c = right(folder);
    const auto build = [&](const std::string &out, const Arguments &more) {
        Arguments a = {"build", "rms_norm", "--target", "host", "-o", folder / out, "--emit", "conceptual_stmt", "--db", path};
        a.insert(a.end(), more.begin(), more.end());
        return run(a);
    };
    const auto nest = [&](const std::string &out) { return read_file(folder / out + "/rms_norm.conceptual.stmt"); };
    CHECK(contains(build("none", {"--shape", kShape}).err, "the shipped schedule: there is no database " + path));
    {
        Database db(path);
        db.record(task_of(), c, timed(5e-6));
        Candidate f16 = c;  // another interface: not what was asked for
        f16.params = {{"type", "float16"}};
        db.record(task_of(), f16, timed(1e-6));
    }
    const ProcessResult taken = build("taken", {"--shape", kShape});
    INFO(taken.err);
    REQUIRE(taken.exit_code == 0);
    CHECK(contains(taken.err, "rms_norm: schedule " + c.id() + " of " + path + ": 5 us with 1 thread(s)"));
    CHECK(contains(taken.err, "is faster but wants other arguments; to have it: --param type=float16"));
    // A parameter that is as the generator has it anyway changes nothing.
    CHECK(contains(build("default", {"--shape", kShape, "--param", "type=float32"}).err, "rms_norm: schedule " + c.id()));
    // What a build does without a size does not depend on what this user has searched.
    const auto silent = [&](const std::string &out, const Arguments &more) {
        Arguments a = {"build", "rms_norm", "--target", "host", "-o", folder / out, "--emit", "conceptual_stmt"};
        a.insert(a.end(), more.begin(), more.end());
        const ProcessResult r = run(a, {"HALYARD_DB=" + path});
        INFO(r.err);
        CHECK(r.ok());
        CHECK(r.err.empty());
    };
    silent("all", {});
    silent("no_db", {"--shape", kShape, "--no-db"});
    CHECK(contains(build("other", {"--shape", "rows=9,cols=100"}).err, "the shipped schedule: "));
    CHECK(nest("all") == nest("none"));
    CHECK(nest("no_db") == nest("none"));
    CHECK(nest("other") == nest("none"));
    CHECK(nest("taken") != nest("none"));
    // By name, in every command that takes a schedule.
    CHECK(build("by_id", {"--schedule", "db:" + c.id().substr(0, 8)}).exit_code == 0);
    CHECK(nest("by_id") == nest("taken"));
    CHECK(contains(run({"show", "rms_norm", "--schedule", "db:" + c.id(), "--db", path}).out, "task:parallel()"));
    CHECK(contains(build("bad", {"--shape", "rows=8"}).err, "lacks cols"));
    CHECK(build("bad", {"--threads", "2"}).exit_code == 2);
}

TEST_CASE("Records that are shipped as a file are chosen by the machine", "[db]") {
    const Folder folder;
    const std::string path = folder / "s.db", shipped = folder / "shipped.jsonl";
    const Candidate c = right(folder);
    Candidate other = c;
    other.lua += "-- of another\n";
    const std::string here = this_machine(), model = here.substr(0, here.rfind(", ", here.find(" processors")));
    Task larger = task_of(), stranger = task_of();
    larger.machine = model + ", 999 processors, L3 1 KiB";
    stranger.machine = "a processor of tomorrow, 2 processors, L3 1 KiB";
    {
        Database db(path);
        db.record(larger, c, timed(5e-6));
        db.record(larger, other, timed(6e-6));
        db.record(stranger, other, timed(1e-6));
    }
    CHECK(run({"db", "export", "--best", "1", "--db", path, "-o", shipped}).exit_code == 0);
    CHECK(count(read_file(shipped), "\n") == 2);
    const auto build = [&] {
        const ProcessResult r = run({"build", "rms_norm", "--target", "host", "-o", folder / "out", "--db", shipped, "--shape", kShape});
        CHECK(r.exit_code == 0);
        return r.err;
    };
    CHECK(
        contains(build(), "schedule " + c.id() + " of " + shipped + ": 5 us with 1 thread(s) at cols=100,rows=8 on another of its model"));
    // What was measured here comes first, however fast.
    Database(path).record(task_of(), other, timed(8e-6));
    CHECK(run({"db", "export", "--db", path, "-o", shipped}).exit_code == 0);
    CHECK(contains(build(), "schedule " + other.id() + " of " + shipped + ": 8 us with 1 thread(s) at cols=100,rows=8 on this machine"));
    CHECK(run_json({"db", "list", "--all", "--db", shipped}).size() == 4);
    // A record's target may be any text, and nothing is written into the file.
    std::string lines = read_file(shipped);
    for (size_t at = 0; (at = lines.find("x86-64-linux", at)) != std::string::npos;) {
        lines.replace(at, 3, "no ");
    }
    write_file(shipped, lines);
    CHECK(contains(build(), "schedule " + other.id()));
    const ProcessResult search = run({"explore", "rms_norm", "--shape", kShape, "--most", "1", "--budget", "9s", "--db", shipped});
    CHECK(search.exit_code == 1);
    CHECK(contains(search.err, shipped + ": error: this is a file of records, into which nothing is written"));
    CHECK(read_file(shipped) == lines);
}

TEST_CASE("Records that cannot be read are no empty list of them", "[db]") {
    const Folder folder;
    const std::string import = "exec \"$halyard\" db import - --db " + (folder / "s.db");
    for (const auto &[r, reason] : {std::pair(run({"db", "import", folder.path(), "--db", folder / "s.db"}), "Is a directory"),
                                    std::pair(run_shell(import + " <" + folder.path()), "Is a directory"),
                                    std::pair(run_shell(import + " <&-"), "Bad file descriptor")}) {
        INFO(r.err);
        CHECK(r.exit_code == 1);
        CHECK(contains(r.err, std::string("error: cannot be read: ") + reason));
    }
    CHECK(names_in(folder.path()) == Arguments{});
}

TEST_CASE("A database and its records go into files only, and whole", "[db]") {
    const Folder folder;
    const std::string path = folder / "s.db", lines = folder / "lines", fifo = folder / "fifo";
    {
        Database db(path);
        db.record(task_of(), right(folder), timed(5e-6));
    }
    REQUIRE(run({"db", "export", "--db", path, "-o", lines}).exit_code == 0);
    REQUIRE(mkfifo(fifo.c_str(), 0666) == 0);
    ProcessResult r = run({"db", "export", "--db", path, "-o", fifo});
    CHECK(r.exit_code == 1);
    CHECK(contains(r.err, fifo + ": error: cannot be put in its place: there is a FIFO"));
    r = run({"db", "import", lines, "--db", fifo});
    CHECK(r.exit_code == 1);
    CHECK(contains(r.err, fifo + ": error: the database cannot be opened: this is no file"));
    // As on a full disk (RLIMIT_FSIZE).
    const auto before = names_in(folder.path());
    for (const char *blocks : {"0", "1", "8", "16"}) {
        r = run_shell(std::string("trap '' XFSZ; ulimit -f ") + blocks + "; exec \"$halyard\" db import " + lines + " --db " +
                      (folder / "new.db"));
        INFO(blocks << ": " << r.err);
        CHECK(r.exit_code == 1);
        CHECK(contains(r.err, (folder / "new.db") + ": error: the database cannot be"));
        CHECK(names_in(folder.path()) == before);
    }
    r = run({"explore", "rms_norm", "--shape", kShape, "--db", path, "-o", folder / "x", "--report", folder / "x"});
    CHECK(r.exit_code == 1);
    CHECK(contains(r.err, "another output of this command goes there"));
    r = run({"explore", "rms_norm", "--shape", kShape, "--db", path, "--export", lines});
    CHECK(r.exit_code == 1);
    CHECK(contains(r.err, lines + ": error: this is no folder"));
    CHECK(names_in(folder.path()) == before);
}
