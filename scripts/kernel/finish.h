#ifndef HALYARD_COMMAND_FINISH_H
#define HALYARD_COMMAND_FINISH_H

/** \file
 * The finishing step: the code that a generator wrote is made once more from its bitcode, with what
 * Halide cannot say to LLVM.
 */

#include <string>

namespace halyard {

/** Finishes the outputs of `function` in a directory: its bitcode (one a target), and beside it
 * object, assembly, IR and library. Throws Failure. */
void finish(const std::string &directory, const std::string &function);

/** Goes up when the same schedule is finished to other code, as kernels are kept in a cache. */
constexpr int kFinishVersion = 5;

/** Whether the report of a generator asks for it. */
inline const char *const kFinishField = "finish";

}  // namespace halyard

#endif
