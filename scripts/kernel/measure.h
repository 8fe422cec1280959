#ifndef HALYARD_COMMAND_MEASURE_H
#define HALYARD_COMMAND_MEASURE_H

/** \file
 * Timing of several kernels against each other.
 */

#include <functional>
#include <string>
#include <vector>

#include "kernel/kernel.h"

namespace halyard {

/** One kernel with enough sets of arguments to miss the cache when they are taken in turn. */
struct Contestant {
    std::string name;
    const CompiledKernel *kernel = nullptr;
    std::vector<KernelArguments> sets;
};

struct Timing {
    double median = 0, minimum = 0;  // seconds a call
    double spread = 0;               // distance of the quartiles over the median
    int samples = 0;
};

struct MeasureOptions {
    bool cold = false;     // the next set for every call, instead of the same one
    double seconds = 0.5;  // a contestant, about
};

/** Times the contestants in turns, in an order that rotates, so that a change of the machine's
 * clock or load hits all of them. Throws Failure where a kernel returns an error. */
std::vector<Timing> measure(std::vector<Contestant> &contestants, const MeasureOptions &options);

}  // namespace halyard

#endif
