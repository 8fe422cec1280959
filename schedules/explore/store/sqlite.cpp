#include "explore/store/sqlite.h"

#include <filesystem>

#include <fmt/format.h>

#include "kernel/failure.h"

namespace halyard::explore {

namespace {

namespace fs = std::filesystem;

// Another process writes for a moment only; one that is stopped in a debugger is not waited for.
constexpr int kBusyMilliseconds = 30000;

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

Sqlite::Sqlite(const std::string &path) : path_(path) {
    std::error_code ignored;
    const fs::path folder = fs::path(path).parent_path();
    if (!folder.empty()) {
        fs::create_directories(folder, ignored);
    }
    if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
        throw Failure(fmt::format("{}: error: the database cannot be opened: this is no file\n  name another place with --db or "
                                  "HALYARD_DB",
                                  path));
    }
    if (sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr) != SQLITE_OK) {
        const std::string message = handle_ ? sqlite3_errmsg(handle_) : "out of memory";
        sqlite3_close(handle_);
        throw Failure(fmt::format("{}: error: the database cannot be opened: {}\n  name another place with --db or "
                                  "HALYARD_DB",
                                  path, message));
    }
    sqlite3_busy_timeout(handle_, kBusyMilliseconds);
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

void Sqlite::fail(const std::string &doing) const {
    const int code = sqlite3_errcode(handle_);
    const std::string message = sqlite3_errmsg(handle_);
    if (code == SQLITE_NOTADB) {
        throw Failure(fmt::format("{}: error: this is no database of schedules\n  name another with --db or "
                                  "HALYARD_DB, or move this file away",
                                  path_));
    }
    throw Failure(fmt::format("{}: error: the database cannot be {}: {}{}", path_, doing, message,
                              code == SQLITE_BUSY ? "\n  another process has held it for 30 s; try again when it ended" : ""));
}

// IMMEDIATE: one that reads first and then wants to write could otherwise find that another has written.
Transaction::Transaction(Sqlite &sqlite) : sqlite_(sqlite) {
    sqlite_.execute("BEGIN IMMEDIATE");
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
