#ifndef HALYARD_TESTS_OPS_STRICT_MEMORY_H
#define HALYARD_TESTS_OPS_STRICT_MEMORY_H

/** \file
 * Memory of a call (halide_malloc) in which nothing that is wrong goes by unseen.
 */

#include "kernel/kernel.h"

namespace ops_test {

/** While it lives, what a kernel asks for lies between pages that nobody may touch, and is full of a number that is NaN as a float of 16
 * and 32 bits, and as an index leads nowhere: what is read before it is stored, or behind the end by more than alignment fills up, ends
 * the process or shows in the result. Only between calls. */
class StrictMemory {
public:
    explicit StrictMemory(const halyard::CompiledKernel &kernel);
    ~StrictMemory();
    StrictMemory(const StrictMemory &) = delete;
    StrictMemory &operator=(const StrictMemory &) = delete;

private:
    const halyard::CompiledKernel &kernel_;
};

}  // namespace ops_test

#endif
