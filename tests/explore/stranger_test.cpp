// Databases and records of strangers: they cost nothing but themselves.

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <thread>

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <sqlite3.h>

#include "explore/store/database.h"
#include "explore/store/sqlite.h"
#include "kernel/failure.h"
#include "fake_generator.h"

using namespace halyard::explore;
using Clock = std::chrono::steady_clock;

namespace {

constexpr const char *kShape = "rows=8,cols=100";

Task small_task() {
    Task t;
    t.op = "rms_norm";
    t.shape = {{"rows", 8}, {"cols", 100}};
    return t;
}

Measured timed(double seconds) {
    Measured m;
    m.status = Status::kOk;
    m.least = m.lower = m.median = m.upper = seconds;
    m.whole = true;
    return m;
}

Candidate with_lua(const std::string &lua) {
    Candidate c;
    c.lua = lua;
    c.origin = "a stranger";
    return c;
}

std::string schedule_that(const std::string &does, int number = 0) {
    return "-- " + std::to_string(number) + "\nreturn schedule \"rms_norm\" { target = \"cpu\", apply = function(k) " + does + " end }\n";
}

Entry good_entry(int number = 0) {
    return {key_of(small_task()), with_lua(schedule_that("", number)), timed(5e-6), "0123", "2026-11-25T12:00:00Z"};
}

void change(const std::string &path, const std::string &sql) {
    sqlite3 *db = nullptr;
    char *message = nullptr;
    REQUIRE(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
    const int code = sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &message);
    INFO((message ? message : ""));
    CHECK(code == SQLITE_OK);
    sqlite3_free(message);
    sqlite3_close(db);
}

// One with `count` records, without a log of writes beside it.
void make_database(const std::string &path, int count = 1) {
    {
        Database db(path);
        for (int i = 0; i < count; i++) {
            CHECK(db.insert({good_entry(i)}) == 1);
        }
    }
    change(path, "PRAGMA journal_mode=DELETE");
}

std::string big_endian(uint32_t n) {
    return {char(n >> 24), char(n >> 16), char(n >> 8), char(n)};
}

// As SQLite has it: the journal of a transaction over several files, whose list is in `victim`.
std::string journal_that_names(const std::string &victim, size_t pages) {
    const std::string magic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
    std::string journal = magic + big_endian(0) + big_endian(0) + big_endian(uint32_t(pages)) + big_endian(512) + big_endian(4096);
    journal.resize(512);
    uint32_t sum = 0;
    for (char c : victim) {
        sum += uint32_t(c);
    }
    return journal + big_endian(0x40000000 / 4096 + 1) + victim + big_endian(uint32_t(victim.size())) + big_endian(sum) + magic;
}

// Each command that takes a database, with the one at `path`.
std::vector<Arguments> commands_with(const std::string &path, const std::string &own) {
    return {{"db", "list", "--db", path},       {"db", "show", "0", "--db", path},
            {"db", "export", "--db", path},     {"db", "prune", "--failed", "--db", path},
            {"db", "merge", path, "--db", own}, {"db", "import", "/dev/null", "--db", path}};
}

}  // namespace

TEST_CASE("A journal beside a database removes no file", "[stranger]") {
    const Folder folder;
    const std::string path = folder / "theirs.db", victim = folder / "victim";
    write_file(victim, "my only copy\n");
    for (const auto &command : commands_with(path, folder / "own.db")) {
        INFO(command[1]);
        for (const char *part : {"", "-wal", "-shm", "-journal"}) {
            std::filesystem::remove(path + part);
        }
        make_database(path);
        write_file(path + "-journal", journal_that_names(victim, read_file(path).size() / 4096));
        const ProcessResult r = run(command);
        INFO(r.err);
        CHECK(read_file(victim) == "my only copy\n");
        CHECK(r.exit_code == 1);
        CHECK(contains(r.err, path + ": error: the database cannot be read"));
        CHECK(contains(r.err, path + "-journal"));
    }
}

TEST_CASE("A file of somebody else keeps every byte", "[stranger]") {
    const Folder folder, other;
    const std::string path = folder / "foreign.db";
    change(path, "CREATE TABLE x(a); INSERT INTO x VALUES(1)");
    const std::string before = read_file(path);
    for (const auto &command : commands_with(path, other / "own.db")) {
        INFO(command[1]);
        const ProcessResult r = run(command);
        CHECK(r.exit_code == 1);
        CHECK(contains(r.err, path + ": error: this is a database of something else"));
        CHECK(read_file(path) == before);
        CHECK(names_in(folder.path()) == Arguments{"foreign.db"});
    }
    // One of ours that is only read, too.
    const std::string ours = folder / "ours.db";
    make_database(ours, 3);
    const std::string as_it_was = read_file(ours);
    CHECK(contains(run({"db", "merge", ours, "--db", other / "own.db"}).out, "3 of 3 were new"));
    CHECK(run({"db", "list", "--db", ours}).exit_code == 0);
    CHECK(run({"db", "export", "--db", ours}).exit_code == 0);
    CHECK(read_file(ours) == as_it_was);
    CHECK(names_in(folder.path()) == Arguments{"foreign.db", "ours.db"});
    std::filesystem::resize_file(path, 0);
    CHECK(contains(run({"db", "list", "--db", path}).err, "this is no database of schedules"));
    CHECK(read_file(path).empty());
}

TEST_CASE("Tables, views and triggers of somebody else are not used", "[stranger]") {
    const Folder folder;
    const std::string path = folder / "theirs.db";
    const std::string endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT ";
    for (const std::string &sql :
         {"ALTER TABLE result RENAME TO r0; CREATE VIEW result AS " + endless + "r0.* FROM r0, c",
          "CREATE TRIGGER t AFTER INSERT ON result BEGIN INSERT INTO kept SELECT * FROM (" + endless + "1, x, x FROM c); END",
          std::string("CREATE TABLE more(a)"), std::string("CREATE INDEX more ON result(hex(zeroblob(length(lua))))"),
          std::string("ALTER TABLE result ADD COLUMN more TEXT AS (hex(zeroblob(499999999)))"), std::string("DROP TABLE kept")}) {
        INFO(sql);
        std::filesystem::remove(path);
        make_database(path);
        change(path, sql);
        const std::string before = read_file(path);
        for (const auto &command : commands_with(path, folder / "own.db")) {
            const auto begin = Clock::now();
            const ProcessResult r = run(command);
            CHECK(r.exit_code == 1);
            CHECK(contains(r.err, path + ": error: the tables of the database are not those that Halyard makes"));
            CHECK(Clock::now() - begin < std::chrono::seconds(5));
        }
        CHECK(read_file(path) == before);
    }
}

TEST_CASE("A page that stands in a database many times is damage", "[stranger]") {
    const Folder folder;
    const std::string path = folder / "theirs.db";
    make_database(path, 100);
    // Every child of an inner page becomes its first: what is below would be read again and again.
    std::string bytes = read_file(path);
    size_t changed = 0;
    for (size_t page = 4096; page < bytes.size(); page += 4096) {
        const size_t cells = size_t(uint8_t(bytes[page + 3])) << 8 | uint8_t(bytes[page + 4]);
        const auto cell = [&](size_t n) {
            return page + (size_t(uint8_t(bytes[page + 12 + 2 * n])) << 8 | uint8_t(bytes[page + 13 + 2 * n]));
        };
        for (size_t n = 1; bytes[page] == 5 && n < cells; n++, changed++) {
            bytes.replace(cell(n), 4, bytes, cell(0), 4);
        }
    }
    REQUIRE(changed > 3);
    write_file(path, bytes);
    const ProcessResult r = run({"db", "list", "--db", path});
    CHECK(r.exit_code == 1);
    CHECK(contains(r.err, path + ": error: the database is damaged: "));
}

TEST_CASE("Tables of any number end soon", "[stranger]") {
    const Folder folder;
    const std::string path = folder / "theirs.db", count_up = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT ";
    make_database(path);
    // SQLite takes this row any number of times.
    change(path, "PRAGMA writable_schema=ON; INSERT INTO sqlite_master " + count_up +
                     "300000) SELECT 'index', 'sqlite_autoindex_task_1', 'task', 3, NULL FROM c");
    for (const auto &command : commands_with(path, folder / "own.db")) {
        const ProcessResult r = run(command);
        CHECK(r.exit_code == 1);
        CHECK(contains(r.err, path + ": error: the tables of the database are not those that Halyard makes"));
    }
    const std::string long_query = count_up + "1000000) SELECT count(*) FROM c";
    Sqlite sqlite(":memory:", true);
    CHECK_THROWS_WITH(sqlite.execute(long_query), Catch::Contains("the tables of the database are not those"));
    sqlite.trust_tables();
    sqlite.execute(long_query);
}

TEST_CASE("An index that has more than its table is damage", "[stranger]") {
    const Folder folder;
    const std::string path = folder / "theirs.db";
    make_database(path, 30);
    const std::string by_time = "'CREATE INDEX result_by_time ON result(task, status, least)'";
    change(path, "CREATE TABLE aside AS SELECT rootpage FROM sqlite_master WHERE name='result_by_time'; PRAGMA writable_schema=ON; "
                 "DELETE FROM sqlite_master WHERE name='result_by_time'");
    change(path, "DELETE FROM result WHERE id > 2; PRAGMA writable_schema=ON; INSERT INTO sqlite_master SELECT 'index', 'result_by_time', "
                 "'result', rootpage, " +
                     by_time + " FROM aside; DROP TABLE aside");
    const ProcessResult r = run({"db", "list", "--db", path});
    INFO(r.err);
    CHECK(r.exit_code == 1);
    CHECK(contains(r.err, path + ": error: the database is damaged: "));
    CHECK(contains(r.err, "result_by_time"));
}

TEST_CASE("A damaged record is named, left out, and can be removed", "[stranger]") {
    const Folder folder;
    const std::string path = folder / "s.db";
    for (const char *value : {"decisions=''", "params='[1]'", "settings='{\"a\":1}'", "measured='{}'", "candidate='zz'", "status='x'",
                              "least='abc'", "least=9e999", "least=1e-9", "predicted=9e999", "lua=x'ff00'", "origin=char(27)||'[31m'",
                              "at='now'||char(10)||'forged'", "folder=printf('%.5000c', 'x')"}) {
        INFO(value);
        std::filesystem::remove(path);
        make_database(path, 3);
        change(path, std::string("UPDATE result SET ") + value + " WHERE id=2");
        const ProcessResult list = run({"db", "list", "--all", "--db", path});
        INFO(list.err);
        CHECK(list.exit_code == 0);
        CHECK(count(list.out, "\n") == 3);
        CHECK(contains(list.err, path + ": 1 damaged record(s) left out, which `halyard db prune --failed` removes: record 2: "));
        CHECK(run_json({"db", "list", "--all", "--db", path}).size() == 2);
        CHECK(count(run({"db", "export", "--db", path}).out, "\n") == 2);
        CHECK(contains(run({"db", "merge", path, "--db", folder / (std::string("own") + value[0])}).out, " of 2 were new"));
        CHECK(contains(run({"db", "prune", "--failed", "--db", path}).out, "1 of 3 removed, 2 are left"));
        CHECK_FALSE(contains(run({"db", "list", "--db", path}).err, "damaged"));
    }
    change(path, "UPDATE task SET threads=9223372036854775807");
    CHECK(contains(run({"db", "list", "--db", path}).err, "9223372036854775807 in a record is no number of threads"));
}

TEST_CASE("Fields of a record are bounded, and those of one line are one line", "[stranger]") {
    const Folder folder;
    Database database(folder / "s.db");
    using Text = std::function<std::string &(Entry &)>;
    const std::vector<Text> lines = {
        [](Entry &e) -> std::string & { return e.key.shape; },         [](Entry &e) -> std::string & { return e.key.params; },
        [](Entry &e) -> std::string & { return e.key.target; },        [](Entry &e) -> std::string & { return e.key.machine; },
        [](Entry &e) -> std::string & { return e.key.compilers; },     [](Entry &e) -> std::string & { return e.candidate.origin; },
        [](Entry &e) -> std::string & { return e.candidate.folder; },  [](Entry &e) -> std::string & { return e.candidate.set["rows"]; },
        [](Entry &e) -> std::string & { return e.script_hash; },       [](Entry &e) -> std::string & { return e.when; },
        [](Entry &e) -> std::string & { return e.measured.reference; }};
    std::vector<Entry> bad;
    const auto add = [&](const std::function<void(Entry &)> &spoil) {
        bad.push_back(good_entry());
        spoil(bad.back());
    };
    for (const Text &line : lines) {
        for (const std::string &text :
             {std::string("a\nforged row"), std::string("\x1b[2J"), std::string(1, '\0'), std::string(5000, 'x')}) {
            add([&](Entry &e) { line(e) = text; });
        }
    }
    add([](Entry &e) { e.candidate.lua.append(1 << 20, ' '); });
    add([](Entry &e) { e.candidate.decisions["x"] = std::string(1 << 20, ' '); });
    add([](Entry &e) { e.measured.message.append(1 << 17, ' '); });
    add([](Entry &e) { e.key.threads = -1; });
    for (const char *place : {"modules", "./modules", "/tmp/../etc", "../modules"}) {
        add([&](Entry &e) { e.candidate.folder = place; });
    }
    for (const double seconds : {0.0, -1.0, 1e-300}) {
        add([&](Entry &e) { e.measured.least = seconds; });
    }
    for (const Entry &e : bad) {
        const std::string record = to_json(e).dump();
        INFO(record.substr(0, 300));
        CHECK_THROWS_AS(database.insert({e}), halyard::Failure);
        write_file(folder / "bad.jsonl", record + "\n");
        const ProcessResult r = run({"db", "import", folder / "bad.jsonl", "--db", folder / "s.db"});
        CHECK(r.exit_code == 1);
        CHECK(contains(r.err, "nothing was imported"));
        CHECK(count(r.err, "\n") == 2);
    }
    CHECK(database.insert({good_entry()}) == 1);
    // What a search itself says of a failure may be long; it is cut, not refused.
    Measured failed;
    failed.message = std::string(1 << 20, 'x');
    database.record(small_task(), with_lua("return"), failed);
    CHECK(database.resume(small_task()).size() == 2);
}

TEST_CASE("A long text makes no wide table", "[stranger]") {
    const Folder folder;
    {
        Database database(folder / "s.db");
        Entry wide = good_entry(1);
        wide.key.shape = std::string(4000, 'x');
        CHECK(database.insert({wide, good_entry(2)}) == 2);
    }
    const std::string list = run({"db", "list", "--all", "--db", folder / "s.db"}).out;
    CHECK(count(list, "\n") == 3);
    CHECK(list.size() < 1500);
}

TEST_CASE("A file is read within bounds, and none that only waits", "[stranger]") {
    const Folder folder;
    write_file(folder / "small", "text");
    CHECK(halyard::read_file(folder / "small", 4) == "text");
    CHECK_THROWS_AS(halyard::read_file(folder / "small", 3), halyard::Failure);
    CHECK_THROWS_AS(halyard::read_file(folder.path()), halyard::Failure);
    CHECK_THROWS_AS(halyard::read_file("/dev/zero", 1 << 20), halyard::Failure);
    CHECK(halyard::beginning_of_file(folder / "small", 2) == "te");
    CHECK(halyard::beginning_of_file(folder / "small", 9) == "text");
    REQUIRE(mkfifo((folder / "fifo").c_str(), 0666) == 0);
    for (const std::string &name : {folder / "fifo", folder / "none", folder.path(), std::string("/dev/zero"), std::string("/proc/kmsg")}) {
        CHECK(halyard::beginning_of_file(name, 9).empty());
    }
    // Before anything of it is measured.
    write_file(folder / "large.lua", "");
    std::filesystem::resize_file(folder / "large.lua", uintmax_t(2) << 30);
    const ProcessResult r = run({"explore", "rms_norm", "--compare", folder / "large.lua", "--shape", kShape, "--db", folder / "s.db"});
    CHECK(r.exit_code == 1);
    CHECK(contains(r.err, "large.lua: error: is larger than 1 MiB"));
}

TEST_CASE("What a record requires is read within bounds, and below its folders", "[stranger]") {
    const Folder folder, elsewhere;
    const auto hash_of = [&](const std::string &lua) {
        Candidate c = with_lua(lua);
        c.folder = folder / "in";  // and the one above is its own too
        const auto begin = Clock::now();
        const std::string hash = script_hash(c);
        CHECK(Clock::now() - begin < std::chrono::seconds(2));
        return hash;
    };
    std::filesystem::create_directory(folder / "in");
    // Text on which a regular expression of the C++ library ends the process.
    hash_of("require" + std::string(1 << 20, ' '));
    hash_of("require \"" + std::string(1 << 20, 'a'));
    hash_of("require" + std::string(1 << 20, '('));
    std::string many;
    for (int i = 0; i < 50000; i++) {
        many += "require 'm" + std::to_string(i) + "'\n";
    }
    hash_of(many);
    // A link out of the folders, or a name that leads out, is no module.
    write_file(elsewhere / "secret.lua", "return 1");
    std::filesystem::create_symlink(elsewhere / "secret.lua", folder / "in/link.lua");
    std::string absolute = elsewhere / "secret";
    std::replace(absolute.begin(), absolute.end(), '/', '.');
    const std::string by_link = hash_of("require 'link'"), by_name = hash_of("require '" + absolute + "'");
    write_file(elsewhere / "secret.lua", "return 2");
    CHECK(hash_of("require 'link'") == by_link);
    CHECK(hash_of("require '" + absolute + "'") == by_name);
    // Wherever the record says that its folder is.
    const auto hash_in = [](const std::string &place, const std::string &lua) {
        Candidate c = with_lua(lua);
        c.folder = place;
        return script_hash(c);
    };
    const std::filesystem::path here = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    const std::string relative = hash_in("in", "require 'link'"), missing = hash_in("none", "require 'link'");
    write_file(elsewhere / "secret.lua", "return 3");
    CHECK(hash_in("in", "require 'link'") == relative);
    CHECK(hash_in("none", "require 'link'") == missing);
    std::filesystem::current_path(here);
    Candidate top;
    top.folder = "/top";
    CHECK(top.module_folders() == std::vector<std::string>{"/top"});  // in the root lies every file
    top.folder = "/top/below";
    CHECK(top.module_folders() == std::vector<std::string>{"/top/below", "/top"});
    // Large ones, many, and no files.
    write_file(folder / "large.lua", "");
    std::filesystem::resize_file(folder / "large.lua", uintmax_t(2) << 30);
    hash_of("require 'large'");
    REQUIRE(mkfifo((folder / "fifo.lua").c_str(), 0666) == 0);
    hash_of("require 'fifo'");
    for (int i = 0; i < 3000; i++) {
        write_file(folder / ("c" + std::to_string(i) + ".lua"), "require 'c" + std::to_string(i + 1) + "'");
    }
    hash_of("require 'c0'");
    // What is in them counts, whatever stands around it.
    write_file(folder / "mine.lua", "return 1");
    const std::vector<std::string> ways = {"require 'mine'", "require(\"mine\")", "require \n ( 'mine' )", "require \"require 'mine'"};
    std::vector<std::string> before;
    for (const auto &way : ways) {
        before.push_back(hash_of(way));
    }
    write_file(folder / "mine.lua", "return 2");
    for (size_t i = 0; i < ways.size(); i++) {
        INFO(ways[i]);
        CHECK(hash_of(ways[i]) != before[i]);
    }
}

TEST_CASE("Records that a build cannot use cost it a few tries", "[stranger]") {
    const Folder folder;
    const std::string path = folder / "s.db";
    const auto build = [&] {
        return run(
            {"build", "rms_norm", "--target", "host", "-o", folder / "out", "--emit", "conceptual_stmt", "--db", path, "--shape", kShape});
    };
    {
        Database db(path);
        db.record(small_task(), with_lua(schedule_that("error \"no\"")), timed(1e-9));
        Entry nonsense = good_entry();
        nonsense.key.params = "a=b,,=,";
        CHECK(db.insert({nonsense}) == 1);
    }
    ProcessResult r = build();
    INFO(r.err);
    CHECK(r.exit_code == 0);
    CHECK(contains(r.err, "rms_norm: the shipped schedule, as schedule "));
    CHECK(contains(r.err, " does not build: "));
    CHECK(names_in(folder / "out") == Arguments{"rms_norm.conceptual.stmt"});
    {
        Database db(path);
        for (int i = 0; i < 20; i++) {
            db.record(small_task(), with_lua("error \"not even a schedule " + std::to_string(i) + "\""), timed(1e-9));
        }
        db.remove({{key_of(small_task()),
                    with_lua(schedule_that("error \"no\"")),
                    {},
                    script_hash(with_lua(schedule_that("error \"no\""))),
                    ""}});
    }
    r = build();
    CHECK(r.exit_code == 0);
    CHECK(contains(r.err, "the shipped schedule: "));
    CHECK(contains(r.err, ", of the 5 that were tried"));
}

TEST_CASE("A signal ends an import that waits, and nothing was imported", "[stranger]") {
    const Folder folder;
    const std::string path = folder / "s.db", fifo = folder / "fifo";
    make_database(path, 1);
    write_file(folder / "line", to_json(good_entry(7)).dump() + "\n");
    REQUIRE(mkfifo(fifo.c_str(), 0666) == 0);
    // Whole lines have come, and the writer is still there.
    for (const char *source : {"\"$fifo\"", "- <\"$fifo\""}) {
        INFO(source);
        const ProcessResult r = run_shell("fifo=" + fifo + "; { cat " + (folder / "line") +
                                          "; exec sleep 4; } >$fifo & writer=$!\n\"$halyard\" db import " + source + " --db " + path +
                                          " & reader=$!; sleep 0.5; kill -TERM $reader; wait $reader; echo \"ended $?\"; kill $writer");
        INFO(r.err);
        CHECK(r.out == "ended 143\n");
        CHECK(run_json({"db", "list", "--all", "--db", path}).size() == 1);
    }
    // One that waits for another process.
    sqlite3 *db = nullptr;
    REQUIRE(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
    REQUIRE(sqlite3_exec(db, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr) == SQLITE_OK);
    const auto begin = Clock::now();
    const ProcessResult r = run_shell("\"$halyard\" db import " + (folder / "line") + " --db " + path +
                                      " & reader=$!; sleep 0.5; kill -TERM $reader; wait $reader; echo \"ended $?\"");
    sqlite3_close(db);
    CHECK(r.out == "ended 143\n");
    CHECK(Clock::now() - begin < std::chrono::seconds(5));
    CHECK(run_json({"db", "list", "--all", "--db", path}).size() == 1);
}

TEST_CASE("Two exports to one file leave one of them, whole", "[stranger]") {
    const Folder folder;
    make_database(folder / "s.db", 50);
    const std::string to = folder / "found.jsonl", all = run({"db", "export", "--db", folder / "s.db"}).out;
    write_file(to + ".part", "of the user");
    const std::string one = "\"$halyard\" db export --db " + (folder / "s.db") + " -o " + to;
    for (int round = 0; round < 5; round++) {
        const ProcessResult r = run_shell(one + " & first=$!; " + one + " && wait $first");
        INFO(r.err);
        CHECK(r.exit_code == 0);
        CHECK(read_file(to) == all);
    }
    CHECK(read_file(to + ".part") == "of the user");
    CHECK(names_in(folder.path()) == Arguments{"found.jsonl", "found.jsonl.part", "s.db"});
}

TEST_CASE("An export of candidates that is interrupted leaves no half of one", "[stranger]") {
    const Folder folder;
    const std::string pack = folder / "pack";
    const std::string explore = "\"$halyard\" explore rms_norm --target cuda-emulator --shape rows=4,cols=64 --budget 20s "
                                "--most 2 --export " +
                                pack + " --db " + (folder / "s.db");
    // As soon as something is built there.
    const ProcessResult r =
        run_shell(explore + " & p=$!; for i in $(seq 300); do [ -n \"$(ls -A " + pack +
                  " 2>/dev/null)\" ] && break; sleep 0.1; done; ls -A " + pack + "; sleep 0.3; kill -TERM $p; wait $p; echo \"ended $?\"");
    INFO(r.err);
    CHECK(contains(r.out, ".halyard-"));
    CHECK(contains(r.out, "ended 143\n"));
    CHECK(names_in(pack) == Arguments{});
}

TEST_CASE("What is found for one target builds for several, of pipelines whose loops and Funcs have no names", "[stranger]") {
    const Folder folder;
    const auto generator = [](const std::string &name) { return std::string(HALYARD_EXPLORE_GENERATORS) + "/" + name + ".generator"; };
    for (const std::string name : {"circle_max", "equalize", "recursive_blur", "tone_laplacian"}) {
        Arguments of = {name, "--generator", generator(name), "--target", "avx512"};
        if (name == "tone_laplacian") {
            of.insert(of.end(), {"--param", "levels=3", "--param", "named=false"});
        }
        Arguments guess = {"explore", "--guess"}, build = {"build", "-o", folder / name, "--schedule", folder / (name + ".lua")};
        guess.insert(guess.end(), of.begin(), of.end());
        of[4] = "avx512,avx2";
        build.insert(build.end(), of.begin(), of.end());
        const ProcessResult found = run(guess);
        INFO(found.out << found.err);
        REQUIRE(found.exit_code == 0);
        write_file(folder / (name + ".lua"), found.out);
        const ProcessResult r = run(build);
        INFO(r.err);
        CHECK(r.exit_code == 0);
        CHECK(names_in(folder / name) == Arguments{name + ".a", name + ".h"});
    }
}
