#ifndef HALYARD_COMMAND_PROCESS_LIMITS_H
#define HALYARD_COMMAND_PROCESS_LIMITS_H

/** \file
 * What a child process may take of the machine; it cannot raise it.
 */

#include <cstdint>

#include "kernel/process.h"

namespace halyard {

/** Bounds the memory (0: no bound) and the processor time (0: none) of this process and of all that it starts from here on: for
 * a child before it becomes the program. It leaves no core file. */
void limit_this_process(int64_t memory_bytes, double processor_seconds);

/** How much memory a generator may take: HALYARD_COMPILER_MEMORY, as 8G or 512M, or 4 GiB; 0 for no bound. Throws
 * UsageError. */
int64_t compiler_memory();

/** For a run of a generator, which compiles what a script says. */
ProcessOptions compiler_options(double timeout);

}  // namespace halyard

#endif
