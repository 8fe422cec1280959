#ifndef HALYARD_COMMAND_STRICT_MEMORY_H
#define HALYARD_COMMAND_STRICT_MEMORY_H

/** \file
 * Memory of a call (halide_malloc) in which nothing that is wrong goes by unseen.
 */

#include "kernel/kernel.h"

namespace halyard {

/** While it lives, a kernel gets its memory from strict_allocate(): what is read before it is stored, or behind the end, shows in the result
 * or ends the process. Only between calls. */
class StrictMemory {
public:
    explicit StrictMemory(const CompiledKernel &kernel);
    ~StrictMemory();
    StrictMemory(const StrictMemory &) = delete;
    StrictMemory &operator=(const StrictMemory &) = delete;

private:
    const CompiledKernel &kernel_;
};

}  // namespace halyard

#endif
