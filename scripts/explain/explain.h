#ifndef HALYARD_COMMAND_EXPLAIN_H
#define HALYARD_COMMAND_EXPLAIN_H

/** \file
 * What a schedule costs and why: the traffic that the plugin counts, the cycles of llvm-mca, and the
 * bandwidths of the machine put together, beside what was measured.
 */

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "explain/counters.h"
#include "explain/gpu_figures.h"
#include "explain/machine.h"
#include "explain/mca.h"
#include "kernel/measure.h"

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
    std::string name;  // "sum_sq", "sum_sq update 0"
    std::string func;
    std::string place;  // the loop that it is computed in, "" for the outermost
    std::string file, source;
    int line = 0;           // of the Lua; 0 where no word placed it
    bool product = false;   // said to be mma: in tiles, or on tensor cores
    int operand_bytes = 0;  // the widest element that it loads of other arrays
    Bytes registers;
    double flops = 0, scalar_flops = 0, elements = 0, footprint = 0;
    double masked = 0;                 // lanes of the vectors that it stores which are masked off, in elements
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

/** For CUDA: one launch after the other, in the order of the first of each. */
struct ExplainedKernel {
    std::string name, func;  // "softmax_y_dense", "y"
    double launches = 1;     // in a call
    std::array<int, 3> grid = {1, 1, 1}, block = {1, 1, 1};
    int dynamic_shared_bytes = 0;
    std::optional<KernelResources> resources;  // nothing where there is no machine code for the device
    Occupancy occupancy;                       // where there are resources
    struct Array {
        std::string name;
        bool argument = false;
        double bytes = 0;    // of the whole array
        Bytes once;          // each line of it that the kernel touches, once
        Bytes blocks;        // each line that a block touches, once a block
        bool in_l2 = false;  // it comes from a kernel before, and the L2 still has it
    };
    std::vector<Array> arrays;  // in the device's memory
    std::vector<std::string> stages;
    Bytes memory, l2;  // of all launches; `memory` without what the L2 still has
    double flops = 0, tensor_flops = 0;
    int operand_bytes = 2;  // of an operand on tensor cores
    double memory_seconds = 0, l2_seconds = 0, flops_seconds = 0, tensor_seconds = 0, launch_seconds = 0;
    double busy = 1;       // the part of the device that it has work for
    double predicted = 0;  // seconds, of all launches
    std::string limit;     // "memory", "L2", "FMA", "tensor cores", "launch"

    int blocks() const {
        return grid[0] * grid[1] * grid[2];
    }
    int threads() const {
        return block[0] * block[1] * block[2];
    }
};

struct Explained {
    std::string op, schedule, script, shape, type, target;
    int threads = 1;
    std::vector<ExplainedStage> stages;
    std::vector<ExplainedLoop> loops;
    struct Inlined {
        std::string func;
        double times = 1;   // that each element is computed
        bool free = false;  // it is no instruction: another name, a conversion to the same type
    };
    std::vector<Inlined> inlined;                        // Funcs without a stage
    std::vector<std::vector<std::string>> side_by_side;  // Funcs whose parallel loops are one
    std::vector<std::string> notes;
    std::vector<ExplainedKernel> kernels;  // for CUDA, whose costs stand in `warm`, of L2 and DRAM alone
    std::string device_limit;              // for CUDA: what most of the time is limited by, as a kernel's
    double allocated = 0;                  // for CUDA: bytes of device memory besides the arguments
    nlohmann::json version;                // for CUDA: as the report has it (version_choice.h); null where there is but one
    std::string measured_where;            // for CUDA: "here", "on NVIDIA H200, 132 multiprocessors"; "" where it was not measured
    nlohmann::json nest;                   // as the report has it
    double flops = 0, needed_bytes = 0, footprint = 0;  // needed: of the arguments
    Bytes arguments;                                    // of them what is read and what is written
    double warm_floor = 0, cold_floor = 0;
    Cost warm, cold;  // of the whole op
    struct InTurns {
        std::shared_ptr<const Contest> contest;  // with those that it is compared with; null where it was not measured
        size_t place = 0;

        const Timing &timing() const {
            return contest->all.at(place).timing;
        }
        /** Whether the two took turns. */
        bool with(const InTurns &other) const {
            return contest && contest == other.contest;
        }
    };
    InTurns warm_turns, cold_turns;
    Counters counters;        // of one warm call
    double page_seconds = 0;  // that its page faults take
    std::string mca_program, mca_processor, mca_error, sample_error;
    int samples = 0;
};

/** Adds stages, loops and predictions from the plugin's report. */
void read_report(Explained &e, const nlohmann::json &report);

/** The most operations a second that the machine has for the operands of the stage with most of them, in lanes or tiles. */
double product_rate(const Explained &e, const Machine &machine);

/** Fills in seconds, limits and totals, from bytes, cycles and the machine. */
void predict(Explained &e, const Machine &machine);

}  // namespace halyard

#endif
