#ifndef HALYARD_EXPLORE_ENTRY_H
#define HALYARD_EXPLORE_ENTRY_H

/** \file
 * A measured candidate with all that its time depends on.
 */

#include <string>
#include <vector>

#include "explore/task.h"

namespace halyard::explore {

/** What a result holds for, besides the text of the schedule. */
struct Key {
    std::string op;
    std::string generator;  // "" for the registry's; otherwise the file name of the executable
    std::string shape;      // "cols=4096,rows=64", in alphabetical order
    std::string params;     // generator parameters of the task: "type=float16"
    std::string target;     // Halide's string
    std::string machine;    // processor, number of processors, last level of cache; for CUDA the device
    std::string compilers;  // versions of Halyard, Halide and LLVM
    int threads = 1;
};

/** Of a task on this machine, with these compilers. */
Key key_of(const Task &task);

/** How keys name a generator of one's own: by its file, and what it computes. */
std::string generator_key(const std::string &executable, const std::string &algorithm);

/** This machine and these compilers, as keys name them. */
std::string this_machine();
/** What runs code for a target here: this machine, or its CUDA device; "" where it has none. */
std::string machine_for(const std::string &target);
std::string these_compilers();

/** A shape as keys write it. */
std::string shape_key(const Dims &shape);

struct Entry {
    Key key;
    Candidate candidate;
    Measured measured;
    std::string script_hash;  // of the text and of every file that it requires
    std::string when;         // UTC, as 2026-01-31T12:00:00Z
    bool chosen = false;      // the winner of the turns in which the last search ended; in the database alone
};

/** Of a candidate as the library is now. */
std::string script_hash(const Candidate &candidate);

/** UTC, as entries write it. */
std::string time_now();

nlohmann::json to_json(const Entry &entry);
/** Throws Failure that says which field is wrong. */
Entry entry_from_json(const nlohmann::json &json);

}  // namespace halyard::explore

#endif
