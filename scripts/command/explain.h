#ifndef HALYARD_COMMAND_EXPLAIN_H
#define HALYARD_COMMAND_EXPLAIN_H

/** \file
 * What a schedule costs and why: the traffic that the plugin counts, the cycles of llvm-mca, and the
 * bandwidths of the machine put together, beside what was measured.
 */

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "counters.h"
#include "machine.h"
#include "mca.h"
#include "measure.h"

namespace halyard {

struct Bytes {
    double read = 0, written = 0;

    double both() const {
        return read + written;
    }
};

/** Between the registers and L1, L1 and L2, L2 and L3, L3 and DRAM. */
enum Level { kL1, kL2, kL3, kDram, kLevels };
extern const char *const kLevelNames[kLevels];
constexpr int kInstructions = -1, kPages = -2;  // what else can limit

/** "L2", "instructions", "page faults" */
std::string limit_name(int limit);

/** Times of a stage or of the whole op, with the data in the cache or not. */
struct Cost {
    std::array<Bytes, kLevels> bytes;
    std::array<double, kLevels> seconds = {};  // that moving them takes
    double predicted = 0;                      // seconds
    int limit = kInstructions;                 // a Level or one of the others
    std::optional<double> measured;            // seconds
};

struct ExplainedStage {
    std::string name;    // "sum_sq", "sum_sq update 0"
    std::string func;
    std::string place;   // the loop that it is computed in, "" for the outermost
    std::string file, source;
    int line = 0;        // of the Lua; 0 where no word placed it
    Bytes registers;
    double flops = 0, scalar_flops = 0, elements = 0, footprint = 0;
    double streamed = 0;               // bytes stored past the caches
    double allocated = 0;              // bytes of new arrays that it stores to first
    double page_seconds = 0;           // its part of the page faults
    double core_seconds = 0;           // its instructions, all data in L1
    double flops_seconds = 0;          // its flops at the machine's peak
    std::optional<double> recomputed;  // times computed over times needed
    bool core_from_mca = false;
    Cost warm, cold;
    std::string limit_text;  // what holds up its hottest loop
    double cycles = 0;       // an iteration of that
    std::string loop;
};

struct ExplainedLoop {
    std::string name, halide;  // "y.col", "y.s0.col.col"
    int occurrence = 0;        // which one of that name in the program
    int stage = -1;
    double entries = 0, iterations = 0, footprint = 0;
    bool parallel = false, innermost = false;
    LoopCycles mca;
    std::optional<double> share;  // of the samples
};

struct Explained {
    std::string op, schedule, script, shape, type, target;
    int threads = 1;
    std::vector<ExplainedStage> stages;
    std::vector<ExplainedLoop> loops;
    struct Inlined {
        std::string func;
        double times = 1;         // that each element is computed
        bool free = false;        // it is no instruction: another name, a conversion to the same type
    };
    std::vector<Inlined> inlined;  // Funcs without a stage
    std::vector<std::string> notes;
    nlohmann::json nest;         // as the report has it
    double flops = 0, needed_bytes = 0, footprint = 0;
    double warm_floor = 0, cold_floor = 0;
    Cost warm, cold;             // of the whole op
    Timing warm_timing, cold_timing;
    Counters counters;           // of one warm call
    double page_seconds = 0;     // that its page faults take
    std::string mca_program, mca_processor, mca_error, sample_error;
    int samples = 0;
};

/** Adds stages, loops and predictions from the plugin's report. */
void read_report(Explained &e, const nlohmann::json &report);

/** Fills in seconds, limits and totals, from bytes, cycles and the machine. */
void predict(Explained &e, const Machine &machine);

}  // namespace halyard

#endif
