#ifndef HALYARD_KERNEL_FINISH_PROCESS_H
#define HALYARD_KERNEL_FINISH_PROCESS_H

/** \file
 * The finishing step in a process of its own: LLVM reads there what a generator wrote, with the limits of one, and reaches what one
 * reaches.
 */

#include <string>

namespace halyard {

/** finish() of finish.h. Throws Failure with its text, or with how the process ended. `timeout` in seconds. */
void finish_in_process(const std::string &directory, const std::string &function, double timeout);

}  // namespace halyard

#endif
