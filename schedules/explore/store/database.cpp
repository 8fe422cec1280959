#include "explore/store/database.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <thread>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/json_text.h"
#include "kernel/process.h"
#include "language/diagnostics.h"
#include "explore/store/record_file.h"
#include "explore/store/record_names.h"
#include "explore/store/sqlite.h"

namespace halyard::explore {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kApplication = 0x48616c79;  // "Haly"
constexpr int kVersion = 1;

const char *const kSchema = R"(
CREATE TABLE task(
    id INTEGER PRIMARY KEY, op TEXT NOT NULL, generator TEXT NOT NULL, shape TEXT NOT NULL, params TEXT NOT NULL,
    target TEXT NOT NULL, machine TEXT NOT NULL, compilers TEXT NOT NULL, threads INTEGER NOT NULL,
    UNIQUE(op, generator, shape, params, target, machine, compilers, threads));
CREATE TABLE result(
    id INTEGER PRIMARY KEY, task INTEGER NOT NULL REFERENCES task(id), candidate TEXT NOT NULL,
    script_hash TEXT NOT NULL, lua TEXT NOT NULL, params TEXT NOT NULL, settings TEXT NOT NULL, origin TEXT NOT NULL,
    folder TEXT NOT NULL, predicted REAL NOT NULL, decisions TEXT NOT NULL, status TEXT NOT NULL, least REAL NOT NULL,
    measured TEXT NOT NULL, at TEXT NOT NULL,
    UNIQUE(task, candidate, script_hash));
CREATE INDEX result_by_time ON result(task, status, least);
CREATE TABLE kept(task INTEGER NOT NULL REFERENCES task(id), name TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY(task, name));
)";

// What a search chose: its id, in quotes, as JSON has it.
const char *const kChosen = "chosen";
const char *const kIsChosen = "EXISTS(SELECT 1 FROM kept k WHERE k.task=r.task AND k.name='chosen' AND k.value='\"'||r.candidate||'\"')";

const char *const kTaskColumns = "op, generator, shape, params, target, machine, compilers, threads";

std::string environment(const char *name) {
    const char *value = std::getenv(name);
    return value ? value : "";
}

std::string dumped(const json &j) {
    return j.dump(-1, ' ', false, json::error_handler_t::replace);
}

int64_t pragma(Sqlite &sqlite, const char *name) {
    Statement s(sqlite, fmt::format("PRAGMA {}", name));
    return s.step() ? s.integer(0) : 0;
}

// Readers and one writer at a time do not wait for one another, and a killed writer leaves what was committed. Where the
// file system cannot do that (a network's), SQLite stays with its rollback journal.
void write_ahead(Sqlite &sqlite) {
    for (int i = 0; i < 500; i++) {
        try {
            Statement s(sqlite, "PRAGMA journal_mode");
            if (s.step() && s.text(0) != "wal") {
                s.use();
                sqlite.execute("PRAGMA journal_mode=WAL");
            }
            return;
        } catch (const Failure &) {
            // Two processes that change it at once: SQLite refuses one without waiting.
            if (i == 499 || sqlite3_errcode(sqlite.handle()) != SQLITE_BUSY) {
                throw;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }
}

// Every table, index, view and trigger as it was made; "" where there is none.
std::string schema_of(Sqlite &sqlite) {
    Statement s(sqlite, "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name");
    std::string text;
    while (s.step()) {
        text += fmt::format("{} {} {} {}\n", s.text(0), s.text(1), s.text(2), s.text(3));
    }
    return text;
}

const std::string &own_schema() {
    static const std::string schema = [] {
        Sqlite fresh(":memory:", true);
        fresh.execute(kSchema);
        return schema_of(fresh);
    }();
    return schema;
}

// Each page stands in the file once, and each index has the rows of its table, so that no query finds more than the file holds. A
// value of another type than its column's damages a record, not the file.
void check_pages(Sqlite &sqlite) {
    constexpr int kMost = 100;  // and nothing is said of what comes after
    Statement check(sqlite, fmt::format("PRAGMA integrity_check({})", kMost));
    for (int said = 1; check.step(); said++) {
        const std::string message = check.text(0);
        if (message != "ok" && (said == kMost || message.find(" value in ") == std::string::npos)) {
            throw Failure(
                fmt::format("{}: error: the database is damaged: {}\n  name another with --db or HALYARD_DB", sqlite.path(), message));
        }
    }
}

// Whether our tables are there; false for a file with none. Says what is wrong with one of somebody else, which may have any
// statements in its schema, and pages that stand in it any number of times: neither is used before it was looked at.
bool has_tables(Sqlite &sqlite) {
    const int64_t application = pragma(sqlite, "application_id"), version = pragma(sqlite, "user_version");
    const std::string schema = schema_of(sqlite);
    sqlite.trust_tables();
    if (application != kApplication && schema.empty()) {
        return false;
    }
    if (application != kApplication) {
        throw Failure(fmt::format("{}: error: this is a database of something else\n  name another with --db or "
                                  "HALYARD_DB",
                                  sqlite.path()));
    }
    if (version != kVersion) {
        throw Failure(fmt::format("{}: error: the database has format {}, this Halyard writes {}\n  name another with "
                                  "--db or HALYARD_DB, or export it with the Halyard that wrote it",
                                  sqlite.path(), version, kVersion));
    }
    if (schema != own_schema()) {
        sqlite.fail_tables();
    }
    check_pages(sqlite);
    return true;
}

// Makes the tables of a new file. Nothing is written into a file of somebody else.
void prepare_file(Sqlite &sqlite, Access access) {
    bool made = false;
    {
        const Transaction one_state(sqlite, false);
        made = has_tables(sqlite);
    }
    if (access == Access::kRead) {
        if (!made) {
            throw Failure(
                fmt::format("{}: error: this is no database of schedules\n  name another with --db or HALYARD_DB", sqlite.path()));
        }
        sqlite.execute("PRAGMA query_only=ON");
        return;
    }
    write_ahead(sqlite);
    sqlite.execute("PRAGMA synchronous=NORMAL");
    sqlite.execute("PRAGMA foreign_keys=ON");
    if (made) {
        return;
    }
    Transaction transaction(sqlite);
    if (has_tables(sqlite)) {
        return;  // another process was quicker
    }
    sqlite.execute(kSchema);
    sqlite.execute(fmt::format("PRAGMA application_id={}", kApplication));
    sqlite.execute(fmt::format("PRAGMA user_version={}", kVersion));
    transaction.commit();
}

// What SQLite leaves of a new file where it finds the disk full: one page at most, while tables of somebody else would take more, or
// stand in the log.
void remove_without_tables(const std::string &path) {
    constexpr uintmax_t kPage = 4096;
    const auto bytes = [](const std::string &file) {
        std::error_code error;
        const uintmax_t size = fs::file_size(file, error);
        return error ? 0 : size;
    };
    if (bytes(path) <= kPage && bytes(path + "-wal") == 0) {
        for (const char *part : {"", "-wal", "-shm"}) {
            std::error_code ignored;
            fs::remove(path + part, ignored);
        }
    }
}

void bind_key(Statement &s, const Key &k) {
    s.bind(k.op).bind(k.generator).bind(k.shape).bind(k.params).bind(k.target).bind(k.machine).bind(k.compilers);
    s.bind(int64_t(k.threads));
}

// 0 where there is none.
int64_t find_task(Sqlite &sqlite, const Key &key) {
    Statement &s = sqlite.prepare("SELECT id FROM task WHERE op=? AND generator=? AND shape=? AND params=? AND target=? "
                                  "AND machine=? AND compilers=? AND threads=?");
    bind_key(s, key);
    const int64_t id = s.step() ? s.integer(0) : 0;
    s.use();
    return id;
}

int64_t make_task(Sqlite &sqlite, const Key &key) {
    const int64_t known = find_task(sqlite, key);
    if (known != 0) {
        return known;
    }
    Statement &s = sqlite.prepare(fmt::format("INSERT INTO task({}) VALUES(?,?,?,?,?,?,?,?)", kTaskColumns));
    bind_key(s, key);
    s.step();
    return sqlite.last_id();
}

// A faster time of the same code stays, as the least of many calls is what is kept; and one that was right does not
// become a failure because the machine was busy. Whether something changed.
bool put(Sqlite &sqlite, const Entry &e) {
    check_record(e);
    const int64_t task = make_task(sqlite, e.key);
    Statement &old = sqlite.prepare("SELECT id, status, least FROM result WHERE task=? AND candidate=? AND "
                                    "script_hash=?");
    old.bind(task).bind(e.candidate.id()).bind(e.script_hash);
    int64_t id = 0;
    if (old.step()) {
        id = old.integer(0);
        const Status status = e.measured.status;
        const bool unlucky = status == Status::kTimeout || status == Status::kOutOfMemory || status == Status::kWorkerLost;
        const std::string old_status = old.text(1);
        const bool better = old_status == status_name(Status::kOk) && (unlucky || (e.measured.ok() && old.number(2) <= e.measured.least));
        old.use();
        const bool same = status != Status::kOk && old_status == status_name(status);
        if (better || same) {
            return false;
        }
        sqlite.prepare("DELETE FROM result WHERE id=?").bind(id).step();
    }
    const Candidate &c = e.candidate;
    Statement &s =
        sqlite.prepare("INSERT INTO result(task, candidate, script_hash, lua, params, settings, origin, folder, predicted, decisions, "
                       "status, least, measured, at) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    s.bind(task).bind(c.id()).bind(e.script_hash).bind(c.lua).bind(dumped(c.params)).bind(dumped(c.set));
    s.bind(c.origin).bind(c.folder).bind(c.predicted).bind(dumped(c.decisions)).bind(status_name(e.measured.status));
    s.bind(e.measured.least).bind(dumped(to_json(e.measured))).bind(e.when).step();
    if (e.measured.ok()) {
        sqlite
            .prepare("DELETE FROM kept WHERE task=? AND name='chosen' AND value<>'\"'||?||'\"' AND NOT EXISTS(SELECT 1 FROM result r "
                     "WHERE r.task=kept.task AND kept.value='\"'||r.candidate||'\"' AND r.status='ok' AND r.least<=?)")
            .bind(task)
            .bind(c.id())
            .bind(e.measured.least)
            .step();
    }
    return true;
}

const std::string kSelectEntries = fmt::format(
    "SELECT r.id, t.op, t.generator, t.shape, t.params, t.target, t.machine, t.compilers, t.threads, r.lua, r.params, r.settings, "
    "r.origin, r.folder, r.predicted, r.decisions, r.measured, r.script_hash, r.at, r.candidate, r.status, r.least, t.id, {} "
    "FROM result r JOIN task t ON t.id=r.task",
    kIsChosen);

// Throws Failure, or an exception of the JSON library, where a row is no record, or not the one by whose columns it was found.
Entry read_entry(const Statement &s) {
    Entry e;
    e.key = {s.text(1), s.text(2), s.text(3), s.text(4), s.text(5), s.text(6), s.text(7), threads_of(s.integer(8))};
    e.candidate.lua = s.text(9);
    e.candidate.params = parse_json(s.text(10)).get<Assignments>();
    e.candidate.set = parse_json(s.text(11)).get<Assignments>();
    e.candidate.origin = s.text(12);
    e.candidate.folder = s.text(13);
    e.candidate.predicted = s.number(14);
    e.candidate.decisions = parse_json(s.text(15));
    e.measured = measured_from_json(parse_json(s.text(16)));
    e.script_hash = s.text(17);
    e.when = s.text(18);
    e.chosen = s.integer(23) != 0;
    check_record(e);
    if (e.candidate.id() != s.text(19) || status_name(e.measured.status) != s.text(20) || e.measured.least != s.number(21)) {
        throw Failure("its id, its status or its time is not that of what it holds");
    }
    return e;
}

// Gives each record to `take` until that says false. The rows that are none are left out and returned, and the first is said: the
// others are worth no less.
std::vector<int64_t> read_entries(const Sqlite &sqlite, Statement &s, const std::function<bool(Entry &&)> &take) {
    std::vector<int64_t> damaged;
    std::string first;
    bool more = true;
    while (more && s.step()) {
        check_signals();
        std::optional<Entry> entry;
        std::string why;
        try {
            entry = read_entry(s);
        } catch (const Failure &e) {
            why = e.what();
        } catch (const json::exception &e) {
            why = e.what();
        }
        if (entry) {
            more = take(std::move(*entry));
            continue;
        }
        first = damaged.empty() ? fmt::format("record {}: {}", s.integer(0), printable(why.substr(0, why.find('\n')))) : first;
        damaged.push_back(s.integer(0));
    }
    s.use();
    if (!damaged.empty()) {
        fmt::print(stderr, "{}: {} damaged record(s) left out, which `halyard db prune --failed` removes: {}\n", sqlite.path(),
                   damaged.size(), first);
    }
    return damaged;
}

std::vector<Entry> all_entries(const Sqlite &sqlite, Statement &s) {
    std::vector<Entry> found;
    read_entries(sqlite, s, [&](Entry &&e) {
        found.push_back(std::move(e));
        return true;
    });
    return found;
}

Entry entry_of(const Task &task, const Candidate &candidate, const Measured &measured) {
    Entry e = {key_of(task), candidate, measured, script_hash(candidate), time_now()};
    e.measured.message.resize(std::min(e.measured.message.size(), kMostMessageBytes));  // a compiler may say more
    return e;
}

}  // namespace

std::string Database::default_path() {
    if (const std::string forced = environment("HALYARD_DB"); !forced.empty()) {
        return forced;
    }
    std::string data = environment("XDG_DATA_HOME");
    if (data.empty()) {
        const std::string home = environment("HOME");
        if (home.empty()) {
            throw Failure("there is no place for the database, as neither HOME nor XDG_DATA_HOME is set\n  name a file "
                          "with --db or HALYARD_DB");
        }
        data = home + "/.local/share";
    }
    return data + "/halyard/schedules.db";
}

Database::Database(const std::string &path, Access access) {
    std::error_code error;
    if (is_record_file(path)) {
        if (access == Access::kWrite) {
            throw Failure(fmt::format("{}: error: this is a file of records, into which nothing is written\n  import it into a database: "
                                      "halyard db import {}",
                                      path, path));
        }
        const auto entries = read_records(path);
        sqlite_ = Sqlite::in_memory(path);
        prepare_file(*sqlite_, Access::kWrite);
        insert(entries);
        return;
    }
    const bool is_new = access == Access::kWrite && !fs::exists(path, error);
    sqlite_ = std::make_unique<Sqlite>(path, access == Access::kWrite);
    try {
        prepare_file(*sqlite_, access);
    } catch (const Failure &) {
        sqlite_.reset();
        if (is_new) {
            remove_without_tables(path);
        }
        throw;
    }
}

Database::~Database() = default;

const std::string &Database::path() const {
    return sqlite_->path();
}

void Database::record(const Task &task, const Candidate &candidate, const Measured &measured) {
    insert({entry_of(task, candidate, measured)});
}

std::optional<Measured> Database::lookup(const Task &task, const Candidate &candidate) {
    const int64_t id = find_task(*sqlite_, key_of(task));
    Statement &s = sqlite_->prepare(fmt::format("{} WHERE r.task=? AND r.candidate=? AND r.script_hash=?", kSelectEntries));
    const auto found = all_entries(*sqlite_, s.bind(id).bind(candidate.id()).bind(script_hash(candidate)));
    return found.empty() ? std::nullopt : std::optional(found.front().measured);
}

std::vector<Entry> Database::best(const Task &task, size_t count) {
    std::vector<Entry> found;
    const int64_t id = find_task(*sqlite_, key_of(task));
    Statement &s =
        sqlite_->prepare(fmt::format("{} WHERE r.task=? AND r.status='ok' ORDER BY {} DESC, r.least, r.id", kSelectEntries, kIsChosen));
    read_entries(*sqlite_, s.bind(id), [&](Entry &&e) {
        if (e.script_hash == script_hash(e.candidate)) {
            found.push_back(std::move(e));
        }
        return found.size() < count;
    });
    return found;
}

std::vector<Entry> Database::resume(const Task &task) {
    const int64_t id = find_task(*sqlite_, key_of(task));
    return all_entries(*sqlite_, sqlite_->prepare(fmt::format("{} WHERE r.task=? ORDER BY r.id", kSelectEntries)).bind(id));
}

void Database::keep(const Task &task, const std::string &name, const json &value) {
    Transaction transaction(*sqlite_);
    const int64_t id = make_task(*sqlite_, key_of(task));
    sqlite_
        ->prepare("INSERT INTO kept(task, name, value) VALUES(?,?,?) ON CONFLICT(task, name) DO UPDATE SET "
                  "value=excluded.value")
        .bind(id)
        .bind(name)
        .bind(dumped(value))
        .step();
    transaction.commit();
}

json Database::kept(const Task &task, const std::string &name) {
    Statement &s = sqlite_->prepare("SELECT value FROM kept WHERE task=? AND name=?");
    s.bind(find_task(*sqlite_, key_of(task))).bind(name);
    const json value = s.step() ? parse_if_json(s.text(0)) : json();
    s.use();
    return value.is_discarded() ? json() : value;
}

std::vector<Entry> Database::entries(const Filter &f) {
    std::vector<std::string> values;
    std::string where = "1";
    const auto equal = [&](const char *column, const std::string &value) {
        if (!value.empty()) {
            where += fmt::format(" AND {}=?", column);
            values.push_back(value);
        }
    };
    equal("t.op", f.op);
    equal("t.shape", f.shape);
    equal("t.target", f.target);
    equal("t.machine", f.machine);
    equal("t.compilers", f.compilers);
    if (!f.id.empty()) {
        where += " AND substr(r.candidate, 1, length(?))=?";
        values.insert(values.end(), {f.id, f.id});
    }
    if (f.threads > 0) {
        where += fmt::format(" AND t.threads={}", f.threads);
    }
    if (f.ok || f.best > 0) {
        where += " AND r.status='ok'";
    }
    Statement &s =
        sqlite_->prepare(fmt::format("{} WHERE {} ORDER BY {}", kSelectEntries, where,
                                     f.best > 0 ? fmt::format("t.op, t.shape, t.id, {} DESC, r.least, r.id", kIsChosen) : "r.id"));
    for (const auto &v : values) {
        s.bind(v);
    }
    std::vector<Entry> found;
    std::map<int64_t, size_t> of_task;
    read_entries(*sqlite_, s, [&](Entry &&e) {
        if (f.best == 0 || of_task[s.integer(22)]++ < f.best) {
            found.push_back(std::move(e));
        }
        return true;
    });
    return found;
}

void Database::choose(const Task &task, const Candidate &candidate) {
    keep(task, kChosen, candidate.id());
}

size_t Database::insert(const std::vector<Entry> &entries) {
    Transaction transaction(*sqlite_);
    size_t changed = 0;
    for (const Entry &e : entries) {
        check_signals();
        changed += put(*sqlite_, e);
    }
    transaction.commit();
    return changed;
}

void Database::remove(const std::vector<Entry> &entries) {
    Transaction transaction(*sqlite_);
    for (const Entry &e : entries) {
        sqlite_->prepare("DELETE FROM result WHERE task=? AND candidate=? AND script_hash=?")
            .bind(find_task(*sqlite_, e.key))
            .bind(e.candidate.id())
            .bind(e.script_hash)
            .step();
    }
    transaction.commit();
}

size_t Database::remove_damaged() {
    Transaction transaction(*sqlite_);
    const auto damaged = read_entries(*sqlite_, sqlite_->prepare(kSelectEntries), [](Entry &&) { return true; });
    for (const int64_t row : damaged) {
        sqlite_->prepare("DELETE FROM result WHERE id=?").bind(row).step();
    }
    transaction.commit();
    return damaged.size();
}

}  // namespace halyard::explore
