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

#include "task.h"

namespace halyard::explore {

/** What a result holds for, besides the text of the schedule. */
struct Key {
    std::string op;
    std::string generator;  // "" for the registry's; otherwise the file name of the executable
    std::string shape;      // "cols=4096,rows=64", in alphabetical order
    std::string params;     // generator parameters of the task: "type=float16"
    std::string target;     // Halide's string
    std::string machine;    // processor, number of processors, last level of cache
    std::string compilers;  // versions of Halyard, Halide and LLVM
    int threads = 1;
};

/** Of a task on this machine, with these compilers. */
Key key_of(const Task &task);

struct Entry {
    Key key;
    Candidate candidate;
    Measured measured;
    std::string script_hash;  // of the text and of every file that it requires
    std::string when;         // UTC, as 2026-01-31T12:00:00Z
};

class Database {
public:
    /** The file of --db, else of HALYARD_DB, else $XDG_DATA_HOME/halyard/schedules.db (~/.local/share). */
    static std::string default_path();

    /** Opens the file; made, with its folder, where there is none. Throws Failure where it is not ours or cannot be
     * written. */
    explicit Database(const std::string &path = default_path());
    ~Database();

    const std::string &path() const;

    /** Replaces what was known of the same candidate for the same key, unless that was timed longer and is faster. */
    void record(const Task &task, const Candidate &candidate, const Measured &measured);

    /** What is known of a candidate; nothing also where a file that it requires has changed since. */
    std::optional<Measured> lookup(const Task &task, const Candidate &candidate);

    /** The fastest right ones of a task, the fastest first; only those whose required files are as they were. */
    std::vector<Entry> best(const Task &task, size_t count = 1);

    /** All that is known of a task, in the order in which it came: what a search that was killed resumes from. */
    std::vector<Entry> resume(const Task &task);

    /** What a search wants to find again: the seed, the time that it has used. Null where there is nothing. */
    void keep(const Task &task, const std::string &name, const nlohmann::json &value);
    nlohmann::json kept(const Task &task, const std::string &name);

private:
    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace halyard::explore

#endif
