#ifndef HALYARD_COMMAND_SHARED_OBJECT_H
#define HALYARD_COMMAND_SHARED_OBJECT_H

/** \file
 * Makes a static library a shared object, without a linker: where Halyard is installed, there may be none.
 *
 * It can link what LLVM makes of a Halide pipeline for x86-64 Linux (position-independent, no variables of threads, no
 * constructors), and says so of everything else. Global functions are found by dlsym(), local ones by debuggers and profilers.
 */

#include <string>
#include <vector>

namespace halyard {

/** The bytes of the shared object: the same for the same library. `needed` are the names of the libraries that its loader
 * has to find what is not in it. Throws std::runtime_error. */
std::string shared_object(const std::string &static_library, const std::vector<std::string> &needed);

}  // namespace halyard

#endif
