#ifndef HALYARD_EXPLORE_COMPARE_H
#define HALYARD_EXPLORE_COMPARE_H

/** \file
 * Alternatives of one op side by side: what each fuses, moves and takes, and why the fastest is the fastest.
 */

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "explain.h"
#include "task.h"

namespace halyard::explore {

struct Contender {
    std::string name;  // "rms_norm.unfused": what tables call it
    Candidate candidate;
    std::optional<double> seconds = std::nullopt;  // of a call, where all were timed in turns before
};

struct Alternative {
    std::string name;
    Candidate candidate;
    Measured measured;                    // by itself
    std::optional<double> in_turns;       // with the others
    std::optional<Explained> explained;   // with times measured in turns; nothing where it failed

    /** Seconds of a call: in turns with the others where that could be measured. */
    double seconds() const;
};

struct Comparison {
    Task task;
    Machine machine;
    std::vector<Alternative> alternatives;  // the fastest first; those that failed last
    std::vector<std::string> why;           // sentences
};

/** Builds and checks the contenders in processes of their own; explains those that are right, and times them in turns.
 * `say` is told what goes on. Throws what Measurer does. */
Comparison compare(const Task &task, const std::vector<Contender> &contenders,
                   const std::function<void(const std::string &)> &say);

/** Where each Func is computed: "root", "at y.row", "inlined". */
std::map<std::string, std::string> fusion_of(const Explained &explained);

/** "sum_sq at y.row against root" for each Func that one of them fuses otherwise. */
std::vector<std::string> fusion_differences(const Explained &a, const Explained &b);

void print_comparison(const Comparison &comparison);
nlohmann::json comparison_json(const Comparison &comparison);
std::string comparison_html(const Comparison &comparison);

}  // namespace halyard::explore

#endif
