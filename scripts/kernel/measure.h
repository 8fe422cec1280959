#ifndef HALYARD_COMMAND_MEASURE_H
#define HALYARD_COMMAND_MEASURE_H

/** \file
 * Timing of several kernels against each other, in turns (turns.h).
 */

#include <string>
#include <vector>

#include "kernel/turns.h"

namespace halyard {

/** One kernel with enough sets of arguments to miss the cache when they are taken in turn. */
struct Contestant {
    std::string name;
    const CompiledKernel *kernel = nullptr;
    std::vector<KernelArguments> sets;
};

struct MeasureOptions {
    bool cold = false;     // the next set for every call, instead of the same one
    double seconds = 0.5;  // a contestant, about
    int threads = 1;
};

/** The contestants in turns; where there are several, the first of them beside itself too. Throws Failure where a kernel
 * returns an error. */
Contest measure(std::vector<Contestant> &contestants, const MeasureOptions &options);

}  // namespace halyard

#endif
