#ifndef HALYARD_COMMAND_ASSEMBLY_H
#define HALYARD_COMMAND_ASSEMBLY_H

/** \file
 * The assembly that LLVM prints for a kernel: its blocks, and which of Halide's loops each one is in.
 */

#include <map>
#include <string>
#include <vector>

namespace halyard {

/** A loop that Halide named `2_for_y.s0.col.col`: number 2, name "y.s0.col.col". */
struct AssemblyLoop {
    std::string header;  // LLVM's label of its first block, "BB0_9"
    int number = 0;      // Halide's: loops in the order of the program
    std::string name;
    int occurrence = 0;  // which one of that name
    bool innermost = false;
    std::vector<std::string> instructions;  // of its own blocks, in order
};

struct AssemblyBlock {
    std::string label;  // as labelled() spells it
    int loop = -1;      // the innermost named loop that it is in; -1 for none
};

struct Assembly {
    std::vector<AssemblyLoop> loops;
    std::vector<AssemblyBlock> blocks;
    std::string labelled;  // the same text with a symbol at every block
};

Assembly read_assembly(const std::string &text);

}  // namespace halyard

#endif
