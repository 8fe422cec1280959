#ifndef HALYARD_COMMAND_MCA_H
#define HALYARD_COMMAND_MCA_H

/** \file
 * llvm-mca: how many cycles a loop takes if all of its data is in L1, and what holds it up.
 */

#include <string>
#include <vector>

namespace halyard {

struct LoopCycles {
    double cycles = 0;      // an iteration
    double throughput = 0;  // least cycles by the busiest unit, whatever waits for what
    int instructions = 0;   // an iteration
    std::string limit;      // in words: "a chain of registers" or the units
};

struct McaResult {
    std::string program;            // "" where there is none
    std::string processor;          // as -mcpu
    std::vector<LoopCycles> loops;  // one each; cycles 0 where llvm-mca could not read it
    std::string error;
};

/** `processor` as -mcpu; "native" is the one here. */
McaResult analyse_loops(const std::vector<std::vector<std::string>> &loops, const std::string &processor);

}  // namespace halyard

#endif
