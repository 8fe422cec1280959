#ifndef HALYARD_EXPLORE_OUTPUTS_H
#define HALYARD_EXPLORE_OUTPUTS_H

/** \file
 * The outputs of a call, kept in a file, and another schedule's held against them.
 */

#include <string>

#include "kernel/kernel.h"
#include "explore/measure/tolerance.h"

namespace halyard::explore {

/** Writes every output of a call that was just made. */
void write_outputs(const std::string &path, const CompiledKernel &kernel, KernelArguments &arguments);

struct Difference {
    double error = 0;     // the largest distance, where 1 is what is allowed
    std::string message;  // "" where all is within: "y(3,4): 1.5 instead of 1.25 +- 1e-6; 12 of 4096 elements are wrong"
};

Difference compare_outputs(const std::string &path, const CompiledKernel &kernel, KernelArguments &arguments, const Tolerance &tolerance);

}  // namespace halyard::explore

#endif
