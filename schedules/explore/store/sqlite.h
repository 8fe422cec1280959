#ifndef HALYARD_EXPLORE_SQLITE_H
#define HALYARD_EXPLORE_SQLITE_H

/** \file
 * As much of SQLite as the database needs, with errors that name the file. The file may be anybody's: what it says is data, and a
 * signal ends what takes long.
 */

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <sqlite3.h>

namespace halyard::explore {

class Sqlite;

/** A prepared statement. The next use() forgets the values and the row of the last. */
class Statement {
public:
    Statement(Sqlite &sqlite, const std::string &sql);
    ~Statement();
    Statement(const Statement &) = delete;
    Statement &operator=(const Statement &) = delete;

    Statement &use();
    Statement &bind(const std::string &text);
    Statement &bind(int64_t number);
    Statement &bind(double number);

    /** Whether there is a row. Throws Failure. */
    bool step();
    std::string text(int column) const;
    int64_t integer(int column) const;
    double number(int column) const;

private:
    Sqlite &sqlite_;
    sqlite3_stmt *statement_ = nullptr;
    int bound_ = 0;
};

class Sqlite {
public:
    /** Opens the file; where there is none it is made, with its folder, or is an error. Throws Failure. */
    Sqlite(const std::string &path, bool make);
    /** An empty one in memory; messages name the path. */
    static std::unique_ptr<Sqlite> in_memory(const std::string &path);
    ~Sqlite();
    Sqlite(const Sqlite &) = delete;
    Sqlite &operator=(const Sqlite &) = delete;

    const std::string &path() const {
        return path_;
    }
    void execute(const std::string &sql);
    Statement &prepare(const std::string &sql);  // kept, and ready for values
    int64_t last_id() const;
    /** Throws Interrupted where a signal is why. */
    [[noreturn]] void fail(const std::string &doing) const;
    [[noreturn]] void fail_tables() const;  // they are not ours
    sqlite3 *handle() const {
        return handle_;
    }
    /** From here on a statement may take as long as it needs. Before, one that takes more than reading our own tables is an error: a
     * few pages of a stranger's can hold any number of them. */
    void trust_tables() {
        steps_left_ = 0;
    }

private:
    explicit Sqlite(const std::string &path) : path_(path) {}
    void open(const std::string &file, int flags);
    static int goes_too_far(void *self);

    const std::string path_;
    sqlite3 *handle_ = nullptr;
    int steps_left_ = 100;  // in thousands; 0 for no bound
    std::map<std::string, std::unique_ptr<Statement>> statements_;
};

/** From here to commit() all or nothing; without it, nothing. One that only reads sees one state of the file. */
class Transaction {
public:
    explicit Transaction(Sqlite &sqlite, bool writes = true);
    ~Transaction();
    void commit();

private:
    Sqlite &sqlite_;
    bool open_ = true;
};

}  // namespace halyard::explore

#endif
