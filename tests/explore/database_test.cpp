// The database: what it keeps, when several write, and when they are killed.

#include <csignal>
#include <random>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <sqlite3.h>

#include "explore/store/database.h"
#include "kernel/failure.h"
#include "fake_generator.h"

using namespace halyard::explore;

namespace {

Task small_task(int rows = 8) {
    Task t;
    t.op = "rms_norm";
    t.shape = {{"rows", rows}, {"cols", 100}};
    return t;
}

Measured timed(double seconds) {
    Measured m;
    m.status = Status::kOk;
    m.least = m.lower = m.median = m.upper = seconds;
    m.whole = true;
    return m;
}

Measured failed(Status status) {
    Measured m;
    m.status = status;
    m.message = "it is broken";
    return m;
}

Candidate numbered(int number) {
    return FakeGenerator::candidate("right", number);
}

std::string integrity(const std::string &path) {
    sqlite3 *db = nullptr;
    sqlite3_stmt *s = nullptr;
    REQUIRE(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
    REQUIRE(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &s, nullptr) == SQLITE_OK);
    REQUIRE(sqlite3_step(s) == SQLITE_ROW);
    const std::string answer = reinterpret_cast<const char *>(sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    sqlite3_close(db);
    return answer;
}

}  // namespace

TEST_CASE("What was recorded is found again", "[database]") {
    const Folder folder;
    Database db(folder / "deep/folder/s.db");
    const Task task = small_task();
    CHECK_FALSE(db.lookup(task, numbered(1)));
    CHECK(db.best(task).empty());
    Candidate c = numbered(1);
    c.params = {{"type", "float16"}};
    c.set = {{"rows", "4"}};
    c.predicted = 3e-6;
    c.decisions = {{"y", {"split", 8}}};
    Measured m = timed(5e-6);
    m.reference = "rms_norm.unfused";
    m.message = "zwölf";
    db.record(task, c, m);
    db.record(task, numbered(2), timed(2e-6));
    db.record(task, numbered(3), failed(Status::kCrash));
    CHECK(to_json(*db.lookup(task, c)) == to_json(m));
    CHECK(db.lookup(task, numbered(3))->status == Status::kCrash);
    // Another size, target, number of threads or type is another task.
    Task other = small_task(9);
    CHECK_FALSE(db.lookup(other, c));
    other = task;
    other.threads = 2;
    CHECK_FALSE(db.lookup(other, c));
    other = task;
    other.params = {{"type", "bfloat16"}};
    CHECK_FALSE(db.lookup(other, c));
    other = task;
    other.target = "sse41";
    CHECK_FALSE(db.lookup(other, c));

    const auto best = db.best(task, 5);
    REQUIRE(best.size() == 2);
    CHECK(best[0].candidate.id() == numbered(2).id());
    CHECK(best[1].candidate.id() == c.id());
    CHECK(best[1].candidate.decisions == c.decisions);
    CHECK(best[1].candidate.predicted == c.predicted);
    CHECK(best[1].key.shape == "cols=100,rows=8");
    const auto all = db.resume(task);
    REQUIRE(all.size() == 3);
    CHECK(all[0].candidate.id() == c.id());
    CHECK(all[2].measured.message == "it is broken");

    CHECK(db.kept(task, "seed").is_null());
    db.keep(task, "seed", 17);
    db.keep(task, "seed", {{"used", 2.5}});
    CHECK(db.kept(task, "seed")["used"] == 2.5);
}

TEST_CASE("The better of two measurements stays", "[database]") {
    const Folder folder;
    Database db(folder / "s.db");
    const Task task = small_task();
    const Candidate c = numbered(1);
    const auto known = [&] { return *db.lookup(task, c); };
    db.record(task, c, failed(Status::kTimeout));
    db.record(task, c, timed(5));
    CHECK(known().least == 5);
    db.record(task, c, timed(6));
    CHECK(known().least == 5);
    db.record(task, c, timed(4));
    CHECK(known().least == 4);
    db.record(task, c, failed(Status::kTimeout));  // a busy machine
    CHECK(known().least == 4);
    db.record(task, c, failed(Status::kWrongResult));  // a race that came out
    CHECK(known().status == Status::kWrongResult);
    CHECK(db.resume(task).size() == 1);
}

TEST_CASE("A schedule whose library has changed is not what was measured", "[database]") {
    const Folder folder;
    Database db(folder / "s.db");
    const Task task = small_task();
    Candidate c = numbered(1);
    c.lua = "local mine = require \"mine\"\n" + c.lua;
    c.folder = folder.path();
    write_file(folder / "mine.lua", "local other = require(\"other\")\nreturn {}\n");
    write_file(folder / "other.lua", "return { 1 }\n");
    db.record(task, c, timed(5));
    CHECK(db.lookup(task, c));
    write_file(folder / "other.lua", "return { 2 }\n");
    CHECK_FALSE(db.lookup(task, c));
    CHECK(db.best(task).empty());
    write_file(folder / "other.lua", "return { 1 }\n");
    CHECK(db.lookup(task, c));
}

TEST_CASE("A file of something else is left alone", "[database]") {
    const Folder folder;
    write_file(folder / "text.db", std::string(4096, 'x'));
    CHECK_THROWS_WITH(Database(folder / "text.db"), Catch::Contains("no database of schedules"));
    CHECK(read_file(folder / "text.db") == std::string(4096, 'x'));
    sqlite3 *db = nullptr;
    REQUIRE(sqlite3_open((folder / "other.db").c_str(), &db) == SQLITE_OK);
    REQUIRE(sqlite3_exec(db, "CREATE TABLE mine(a)", nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(db);
    CHECK_THROWS_WITH(Database(folder / "other.db"), Catch::Contains("something else"));
    CHECK_THROWS_WITH(Database("/proc/nowhere/s.db"), Catch::Contains("cannot be opened"));
    { Database made(folder / "new.db"); }
    REQUIRE(sqlite3_open((folder / "new.db").c_str(), &db) == SQLITE_OK);
    REQUIRE(sqlite3_exec(db, "PRAGMA user_version=99", nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(db);
    CHECK_THROWS_WITH(Database(folder / "new.db"), Catch::Contains("has format 99"));
}

TEST_CASE("Several searches at once lose nothing", "[database]") {
    const Folder folder;
    const std::string path = folder / "s.db";  // which all of them make at the same moment
    constexpr int kWriters = 4, kEach = 25;
    std::vector<pid_t> writers;
    for (int w = 0; w < kWriters; w++) {
        const pid_t pid = fork();
        if (pid == 0) {
            try {
                Database db(path);
                for (int i = 0; i < kEach; i++) {
                    db.record(small_task(), numbered(w * kEach + i), timed(1 + i));
                    db.keep(small_task(), "writer " + std::to_string(w), i);
                }
                _exit(0);
            } catch (const std::exception &) {
                _exit(1);
            }
        }
        writers.push_back(pid);
    }
    for (const pid_t pid : writers) {
        int status = 0;
        waitpid(pid, &status, 0);
        CHECK(WEXITSTATUS(status) == 0);
    }
    Database db(path);
    CHECK(db.resume(small_task()).size() == kWriters * kEach);
    for (int w = 0; w < kWriters; w++) {
        CHECK(db.kept(small_task(), "writer " + std::to_string(w)) == kEach - 1);
    }
    CHECK(integrity(path) == "ok");
}

TEST_CASE("Killed at any moment", "[database]") {
    const Folder folder;
    const std::string path = folder / "s.db";
    std::mt19937 random(20261121);
    std::uniform_real_distribution<double> moment(0, 0.06);
    int told = 0, killed_in_work = 0;
    for (int round = 0; round < 25; round++) {
        int ends[2];
        REQUIRE(pipe(ends) == 0);
        const pid_t pid = fork();
        if (pid == 0) {
            close(ends[0]);
            Database db(path);  // the first round makes the file
            for (int i = 0;; i++) {
                const int number = round * 100000 + i;
                db.record(small_task(), numbered(number), timed(1));
                if (write(ends[1], &number, sizeof(number)) != sizeof(number)) {
                    _exit(1);
                }
            }
        }
        close(ends[1]);
        std::this_thread::sleep_for(std::chrono::duration<double>(moment(random)));
        kill(pid, SIGKILL);
        waitpid(pid, nullptr, 0);
        std::vector<int> recorded;
        for (int number = 0; read(ends[0], &number, sizeof(number)) == sizeof(number);) {
            recorded.push_back(number);
        }
        close(ends[0]);
        killed_in_work += !recorded.empty();
        // All that record() said it had is there, and the file is whole for the next one.
        Database db(path);
        for (const int number : recorded) {
            CHECK(db.lookup(small_task(), numbered(number)));
        }
        told += int(recorded.size());
        const int there = int(db.resume(small_task()).size());
        CHECK(there >= told);
        CHECK(there <= told + round + 1);  // the one in flight may have arrived
    }
    CHECK(killed_in_work > 5);
    CHECK(integrity(path) == "ok");
}
