#ifndef HALYARD_LOWERING_CUDA_PRINT_H
#define HALYARD_LOWERING_CUDA_PRINT_H

/** \file
 * A kernel as the text of a CUDA C++ function.
 */

#include <functional>
#include <set>
#include <string>

#include "kernel.h"

namespace halyard {

struct PrintOptions {
    /** Buffers that are stored past the caches. */
    std::set<std::string> streamed;
    /** What is to be said where a Func is computed, such as a line of its schedule; "" for nothing. */
    std::function<std::string(const std::string &func)> note;
};

std::string print_kernel(const Kernel &kernel, const PrintOptions &options);

}  // namespace halyard

#endif
