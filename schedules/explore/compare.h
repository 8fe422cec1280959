#ifndef HALYARD_EXPLORE_COMPARE_H
#define HALYARD_EXPLORE_COMPARE_H

/** \file
 * Alternatives of one op side by side: what each fuses, moves and takes, and why the fastest is the fastest.
 */

#include <functional>

#include "explain.h"
#include "task.h"

namespace halyard::explore {

struct Alternative {
    std::string name;
    Candidate candidate;
    Measured measured;               // in turns with the others
    std::optional<Explained> explained;  // nothing where it could not be built or explained
};

struct Comparison {
    Task task;
    Machine machine;
    std::vector<Alternative> alternatives;  // the fastest first; those that failed last
    std::vector<std::string> why;           // sentences
};

/** Builds, checks, explains and times the candidates in turns. `say` is told what goes on. */
Comparison compare(const Task &task, const std::vector<Candidate> &candidates,
                   const std::function<void(const std::string &)> &say);

void print_comparison(const Comparison &comparison);
nlohmann::json comparison_json(const Comparison &comparison);
std::string comparison_html(const Comparison &comparison);

}  // namespace halyard::explore

#endif
