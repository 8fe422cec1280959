#include "explore/store/sqlite.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "kernel/failure.h"
#include "kernel/process.h"

namespace halyard::explore {

namespace {

namespace fs = std::filesystem;

// Another process writes for a moment only; one that is stopped in a debugger is not waited for.
constexpr int kBusyMilliseconds = 30000, kNapMilliseconds = 10;
constexpr int kMostBytes = 16 << 20;  // of a row or a text: no record comes near
constexpr int kSteps = 1000;          // of a statement, between two looks at the signals

int wait_a_moment(void *, int times) {
    if (interrupted() || times * kNapMilliseconds >= kBusyMilliseconds) {
        return 0;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(kNapMilliseconds));
    return 1;
}

// A journal can name another file, the list of a transaction over several databases, which SQLite reads and then removes. We
// have no such transactions: the name is a stranger's, and no file is opened for it.
const char *own_file_system() {
    static sqlite3_vfs *const system = sqlite3_vfs_find(nullptr);
    static sqlite3_vfs own = *system;
    static const int registered = [] {
        own.pNext = nullptr;
        own.zName = "halyard";
        own.xOpen = [](sqlite3_vfs *, const char *name, sqlite3_file *file, int flags, int *out_flags) {
            constexpr int kSuperJournal = 0x4000;  // SQLITE_OPEN_SUPER_JOURNAL, or as older headers have it, MASTER_JOURNAL
            file->pMethods = nullptr;
            return flags & kSuperJournal ? SQLITE_CANTOPEN : system->xOpen(system, name, file, flags, out_flags);
        };
        return sqlite3_vfs_register(&own, 0);
    }();
    return registered == SQLITE_OK ? own.zName : "";  // "" is none, and an error
}

// Nothing of the file is a program: no function with effects in its schema, no writing of pages or of the schema itself.
void trust_nothing(sqlite3 *handle) {
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kMostBytes);
    sqlite3_busy_handler(handle, wait_a_moment, nullptr);
}

}  // namespace

Statement::Statement(Sqlite &sqlite, const std::string &sql) : sqlite_(sqlite) {
    if (sqlite3_prepare_v2(sqlite.handle(), sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK) {
        sqlite.fail("read");
    }
}

Statement::~Statement() {
    sqlite3_finalize(statement_);
}

Statement &Statement::use() {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
    bound_ = 0;
    return *this;
}

Statement &Statement::bind(const std::string &text) {
    sqlite3_bind_text(statement_, ++bound_, text.data(), int(text.size()), SQLITE_TRANSIENT);
    return *this;
}

Statement &Statement::bind(int64_t number) {
    sqlite3_bind_int64(statement_, ++bound_, number);
    return *this;
}

Statement &Statement::bind(double number) {
    sqlite3_bind_double(statement_, ++bound_, number);
    return *this;
}

bool Statement::step() {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) {
        return true;
    }
    sqlite3_reset(statement_);  // what holds a lock lets go of it
    if (code != SQLITE_DONE) {
        sqlite_.fail("read or written");
    }
    return false;
}

std::string Statement::text(int column) const {
    const auto *begin = reinterpret_cast<const char *>(sqlite3_column_text(statement_, column));
    return begin ? std::string(begin, size_t(sqlite3_column_bytes(statement_, column))) : std::string();
}

int64_t Statement::integer(int column) const {
    return sqlite3_column_int64(statement_, column);
}

double Statement::number(int column) const {
    return sqlite3_column_double(statement_, column);
}

Sqlite::Sqlite(const std::string &path, bool make) : path_(path) {
    std::error_code ignored;
    const fs::path folder = fs::path(path).parent_path();
    if (make && !folder.empty()) {
        fs::create_directories(folder, ignored);
    }
    if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
        throw Failure(fmt::format("{}: error: the database cannot be opened: this is no file\n  name another place with --db or "
                                  "HALYARD_DB",
                                  path));
    }
    open(path, SQLITE_OPEN_READWRITE | (make ? SQLITE_OPEN_CREATE : 0));
}

std::unique_ptr<Sqlite> Sqlite::in_memory(const std::string &path) {
    std::unique_ptr<Sqlite> made(new Sqlite(path));
    made->open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    return made;
}

void Sqlite::open(const std::string &file, int flags) {
    if (sqlite3_open_v2(file.c_str(), &handle_, flags, own_file_system()) != SQLITE_OK) {
        const std::string message = handle_ ? sqlite3_errmsg(handle_) : "out of memory";
        sqlite3_close(handle_);
        throw Failure(fmt::format("{}: error: the database cannot be opened: {}\n  name another place with --db or "
                                  "HALYARD_DB",
                                  path_, message));
    }
    trust_nothing(handle_);
    sqlite3_progress_handler(handle_, kSteps, goes_too_far, this);
}

int Sqlite::goes_too_far(void *self) {
    int &left = static_cast<Sqlite *>(self)->steps_left_;
    return int(interrupted() || (left > 0 && --left == 0));
}

Sqlite::~Sqlite() {
    statements_.clear();
    sqlite3_close(handle_);
}

void Sqlite::execute(const std::string &sql) {
    if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
        fail("read or written");
    }
}

Statement &Sqlite::prepare(const std::string &sql) {
    auto &statement = statements_[sql];
    if (!statement) {
        statement = std::make_unique<Statement>(*this, sql);
    }
    return statement->use();
}

int64_t Sqlite::last_id() const {
    return sqlite3_last_insert_rowid(handle_);
}

void Sqlite::fail_tables() const {
    throw Failure(fmt::format("{}: error: the tables of the database are not those that Halyard makes\n  name another with "
                              "--db or HALYARD_DB",
                              path_));
}

void Sqlite::fail(const std::string &doing) const {
    check_signals();
    const int code = sqlite3_errcode(handle_);
    const std::string message = sqlite3_errmsg(handle_);
    if (code == SQLITE_NOTADB) {
        throw Failure(fmt::format("{}: error: this is no database of schedules\n  name another with --db or "
                                  "HALYARD_DB, or move this file away",
                                  path_));
    }
    if (code == SQLITE_INTERRUPT) {
        fail_tables();
    }
    std::string advice;
    if (code == SQLITE_BUSY) {
        advice = "\n  another process has held it for 30 s; try again when it ended";
    } else if (code == SQLITE_CANTOPEN) {
        advice = fmt::format("\n  the folder may be closed to you; or {}-journal is not Halyard's, then move it away", path_);
    }
    throw Failure(fmt::format("{}: error: the database cannot be {}: {}{}", path_, doing, message, advice));
}

// IMMEDIATE: one that reads first and then wants to write could otherwise find that another has written.
Transaction::Transaction(Sqlite &sqlite, bool writes) : sqlite_(sqlite) {
    sqlite_.execute(writes ? "BEGIN IMMEDIATE" : "BEGIN");
}

Transaction::~Transaction() {
    if (open_) {
        sqlite3_exec(sqlite_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
    }
}

void Transaction::commit() {
    sqlite_.execute("COMMIT");
    open_ = false;
}

}  // namespace halyard::explore
