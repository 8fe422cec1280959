#ifndef HALYARD_EXPLORE_DATABASE_H
#define HALYARD_EXPLORE_DATABASE_H

/** \file
 * Every candidate that was ever measured: an SQLite file, which several searches may write at once. A result is there
 * when record() returns, whatever happens to the process then.
 */

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "explore/store/entry.h"

namespace halyard::explore {

class Sqlite;

/** Which entries are meant; what is empty or 0 does not restrict. */
struct Filter {
    std::string op, shape, target, machine, compilers;
    std::string id;  // of a candidate, or how it begins
    int threads = 0;
    bool ok = false;  // only right ones
    size_t best = 0;  // so many of each task, the chosen one and then the fastest first; 0 for all, in the order in which they came
};

/** kRead changes nothing in a file, whoever made it. */
enum class Access { kRead, kWrite };

class Database {
public:
    /** The file of --db, else of HALYARD_DB, else $XDG_DATA_HOME/halyard/schedules.db (~/.local/share). */
    static std::string default_path();

    /** Opens the file; for kWrite made, with its folder, where there is none. A file of records (record_file.h) is read into
     * memory for kRead. Throws Failure where it is not ours. */
    explicit Database(const std::string &path = default_path(), Access access = Access::kWrite);
    ~Database();

    const std::string &path() const;

    /** Replaces what was known of the same candidate for the same key, unless that was right and faster, or the new one
     * only ran out of time or memory. */
    void record(const Task &task, const Candidate &candidate, const Measured &measured);

    /** What is known of a candidate; nothing also where a file that it requires has changed since. */
    std::optional<Measured> lookup(const Task &task, const Candidate &candidate);

    /** The fastest right ones of a task, the chosen one and then the fastest first; only those whose required files are as they were. */
    std::vector<Entry> best(const Task &task, size_t count = 1);

    /** All that is known of a task, in the order in which it came: what a search that was killed resumes from. */
    std::vector<Entry> resume(const Task &task);

    /** What a search wants to find again: the seed, the time that it has used. Null where there is nothing. */
    void keep(const Task &task, const std::string &name, const nlohmann::json &value);
    nlohmann::json kept(const Task &task, const std::string &name);

    std::vector<Entry> entries(const Filter &filter);

    /** Marks the one that a search named as the best in the end, in turns: it comes before what is faster by itself, until
     * something faster than it is measured. */
    void choose(const Task &task, const Candidate &candidate);

    /** As record() does, all of them or none. How many were new or better. */
    size_t insert(const std::vector<Entry> &entries);

    void remove(const std::vector<Entry> &entries);

    /** Those that are left out of every answer, as they are no records. How many there were. */
    size_t remove_damaged();

private:
    std::unique_ptr<Sqlite> sqlite_;
};

}  // namespace halyard::explore

#endif
