#ifndef HALYARD_EXPLORE_TASK_H
#define HALYARD_EXPLORE_TASK_H

/** \file
 * What is searched for, what is tried, and what came of it. A candidate is the text of a Lua schedule: whatever made it,
 * it is built, checked and timed like one that a person wrote.
 */

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "kernel/arithmetic.h"
#include "kernel/generate.h"

namespace halyard::explore {

/** What one candidate may take before it is given up. */
struct Limits {
    double build_seconds = 60;                // generator, finishing step and linker together
    double run_seconds = 20;                  // loading, checking and timing together
    int64_t memory_bytes = int64_t(8) << 30;  // of address space, each process
};

struct Task {
    std::string op;
    std::string generator;  // a stock Halide generator executable; "" takes the registry's
    std::string algorithm;  // of such a one: a hash of what it computes; "" is not known
    Dims shape;             // as the registry names it; empty takes the estimates of the generator (not the registry's)
    Assignments params;     // of the generator: element types, variants
    std::string target = "host";
    int threads = 1;
    std::string machine;  // where it is measured, as keys name it; "" is here
    Limits limits;
};

struct Candidate {
    std::string lua;                                      // the whole script
    Assignments params;                                   // of the generator, besides those of the task
    Assignments set;                                      // values for tune{} parameters of the script
    std::string origin;                                   // "random", "mutation of 3f2a", "Adams2019", a file: shown, never interpreted
    double predicted = 0;                                 // seconds; 0 where nothing was predicted
    nlohmann::json decisions = nlohmann::json::object();  // how the search describes it to itself
    bool own = false;                                     // no script: the schedule that the generator has itself, in C++
    std::string folder;                                   // where `require` looks besides the library: the script's own; "" for none

    /** 16 hex digits of text, params and set: the same candidate has the same id in every run. */
    std::string id() const;
    /** Where its modules are: its folder and the one above, unless that is the root, in which every file lies. */
    std::vector<std::string> module_folders() const;
};

/** kWorkerLost: the machine that measured it, or the program there, was gone before it could say anything; the next search tries
 * again. kPending: not measured yet, as it is to be measured on another machine. Never recorded. */
enum class Status { kOk, kBuildError, kCrash, kTimeout, kOutOfMemory, kWrongResult, kWorkerLost, kPending };

/** "ok", "build error", "crash", "timeout", "out of memory", "wrong result", "worker lost", "pending" */
const char *status_name(Status status);
/** Throws Failure for a name that is none. */
Status status_of(const std::string &name);

struct Measured {
    Status status = Status::kCrash;
    std::string message;                      // ready to print; "" where all went well
    double least = 0;                         // seconds a call
    double median = 0, lower = 0, upper = 0;  // and the quartiles
    int samples = 0;
    bool whole = false;         // false: given up early, since it is clearly slower than the best
    double error = 0;           // largest distance from the reference, where 1 is what the op allows
    std::string reference;      // the schedule that it was checked against
    int64_t library_bytes = 0;  // of machine code and constants
    double build_seconds = 0, run_seconds = 0;

    bool ok() const {
        return status == Status::kOk;
    }
    /** The kernel answered with an error of Halide's. */
    void refuse(int code, const std::string &message);
};

/** What a run of it needs, on this machine or another: nothing of how it is built. */
nlohmann::json to_json(const Task &task);
Task task_from_json(const nlohmann::json &json);

nlohmann::json to_json(const Measured &measured);
Measured measured_from_json(const nlohmann::json &json);

}  // namespace halyard::explore

#endif
