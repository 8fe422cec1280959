#ifndef HALYARD_COMMAND_SAMPLER_H
#define HALYARD_COMMAND_SAMPLER_H

/** \file
 * Where a kernel spends its time: the program counter, looked at some thousand times a second while it
 * runs on one thread, by the blocks of its assembly. The code itself is not changed.
 */

#include "explain/assembly.h"
#include "kernel/kernel.h"

namespace halyard {

struct Samples {
    int total = 0;
    std::vector<int> by_loop;  // of Assembly::loops, by the innermost named loop
    int kernel = 0;            // in the kernel but in no named loop
    int outside = 0;           // in the runtime: threads, memory
    std::string error;         // why there are none
};

/** Assembles the text, links it with the runtime, and runs it for about so long. */
Samples sample_kernel(const Assembly &assembly, const std::string &function, std::vector<void *> addresses, double seconds);

}  // namespace halyard

#endif
