#ifndef HALYARD_TESTS_FUZZ_RUN_H
#define HALYARD_TESTS_FUZZ_RUN_H

/** \file
 * Schedules an algorithm by a script through the plugin, compiles it in process, calls it and compares
 * what it gives with what the algorithm gives without a schedule.
 */

#include <map>
#include <string>
#include <vector>

#include "pipelines.h"

namespace fuzz {

enum class Outcome {
    kRight,          // every call gave the right result
    kRefused,        // an error of the script, at a line of it
    kRefusedAtCall,  // the schedule promises what some of the calls do not keep, and they were errors
    kWrong,
};

struct Result {
    Outcome outcome = Outcome::kWrong;
    std::string message;
};

/** How the buffers of a call lie. */
struct Sizes {
    int cols, rows;  // of the inputs
    int col, row;    // where the outputs start
    int wide, high;  // how large they are
};

class Runner {
public:
    /** Computes what is right. */
    Runner();

    /** `script` is a file. Throws nothing; but compilers may crash. */
    Result run(const std::string &algorithm, const std::string &script) const;

    /** The same for CUDA: built as a library by a stock generator, called on the emulated device. A tuple is none of these. */
    Result run_on_device(const std::string &algorithm, const std::string &script) const;

private:
    using Values = std::vector<std::vector<int>>;  // of each output

    std::string compare(const std::string &algorithm, size_t size, const Values &got) const;

    Values call(Algorithm &a, const Sizes &sizes, std::string &error) const;

    std::map<std::string, std::vector<Values>> right_;  // by algorithm, for each of the sizes
};

}  // namespace fuzz

#endif
