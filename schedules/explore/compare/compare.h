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

#include "explain/explain.h"
#include "explore/measure/candidate_process.h"
#include "explore/task.h"

namespace halyard::explore {

struct Contender {
    std::string name;  // "rms_norm.unfused": what tables call it
    Candidate candidate;
    std::string file = {};                           // that the text is of; "" for none
    std::optional<Measured> checked = std::nullopt;  // what is known of it already, so that it need not be found out
    Explained::InTurns turns = {};                   // where all were timed in turns before
};

struct Alternative {
    std::string name;
    Candidate candidate;
    Measured measured;                   // by itself
    Explained::InTurns turns;            // with the others; without a contest where that could not be measured
    std::optional<Explained> explained;  // with times measured in turns; nothing where it failed

    /** Seconds of a call: in turns with the others where that could be measured. */
    double seconds() const;

    /** It was found to be wrong, or could not be built or run. */
    bool failed() const {
        return !measured.ok() && measured.status != Status::kPending;
    }
};

struct Comparison {
    Task task;
    Machine machine;
    std::optional<GpuFigures> gpu;          // for CUDA, in place of the machine
    std::vector<Alternative> alternatives;  // the fastest first; those that failed last
    std::vector<std::string> why;           // sentences
    bool measured = true;                   // each of those that did not fail; otherwise it is by what was predicted

    /** Seconds of a call, by which they are compared. */
    double seconds(const Alternative &alternative) const;
};

/** Builds and checks the contenders in processes of their own; explains those that are right, and times them in turns.
 * `say` is told what goes on. Throws what Measurer does. */
Comparison compare(const Task &task, const std::vector<Contender> &contenders, const std::function<void(const std::string &)> &say);

/** What a comparison for CUDA is made with. */
struct OnDevice {
    GpuFigures gpu;
    bool measure = false;                                             // there is such a device here
    bool emulated = false;                                            // whose times say nothing
    std::function<std::optional<Measured>(const Candidate &)> known;  // what was measured elsewhere; may be empty
    std::string where;                                                // it was: "on NVIDIA H200, 132 multiprocessors"
};

/** The contenders in their order, each built once, explained and, where there is a device, checked and timed. One that was
 * not measured is Status::kPending. */
std::vector<Alternative> alternatives_on_device(const Task &task, const std::vector<Contender> &contenders, const OnDevice &device,
                                                const std::function<void(const std::string &)> &say);

/** The same as a comparison: the fastest first, by what was measured if all were, else as predicted. */
Comparison compare_on_device(const Task &task, const std::vector<Contender> &contenders, const OnDevice &device,
                             const std::function<void(const std::string &)> &say);

/** Keeps what came of their turns. */
void set_turns(const std::vector<Alternative *> &alternatives, const InTurns &turns);

/** How two of them compare: "A is 1.20 times as fast as B (1.18 to 1.22, noise 1.0 %)", "a tie between A and B (...)". */
std::string verdict(const Comparison &comparison, const Alternative &a, const Alternative &b);

/** The size, as a user writes it. */
std::string compared_shape(const Comparison &comparison);

/** Noise, and what else used the machine; nothing where they took no turns. */
std::vector<std::string> about_turns(const Comparison &comparison);

/** Why the first of the alternatives is the fastest, of the host or a device. */
std::vector<std::string> reasons(const Comparison &comparison);

/** Where each Func is computed: "root", "at y.row", "inlined". */
std::map<std::string, std::string> fusion_of(const Explained &explained);

/** "sum_sq at y.row against root" for each Func that one of them fuses otherwise. */
std::vector<std::string> fusion_differences(const Explained &a, const Explained &b);

/** The table, its head first. */
std::vector<std::vector<std::string>> comparison_rows(const Comparison &comparison);

/** Whose times they are. */
std::string machine_text(const Comparison &comparison);

extern const char *const kBelowFloor;  // what is said of a time that is
bool any_below_floor(const Comparison &comparison);

/** "ok, as softmax.unfused", "not run", "wrong result: ..." */
std::string checked_text(const Alternative &alternative);

void print_comparison(const Comparison &comparison);
nlohmann::json comparison_json(const Comparison &comparison);
std::string comparison_html(const Comparison &comparison);

}  // namespace halyard::explore

#endif
