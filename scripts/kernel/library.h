#ifndef HALYARD_COMMAND_LIBRARY_H
#define HALYARD_COMMAND_LIBRARY_H

/** \file
 * Libraries for programs that load them while they run, as the Python package does: shared objects over one shared runtime.
 */

#include <string>

#include <nlohmann/json.hpp>

#include "kernel/generate.h"

namespace halyard {

/** The library of a plan in the cache, built where it is not there, as a record: "path" of the shared object and the "function" in
 * it; "params", the values of all parameters of the generator; "arguments" of the registry, where it is an op of that; "script";
 * "targets"; "devices". It is there whole or not at all, and of several processes one builds it; what was damaged since is built anew.
 * Throws Failure. */
nlohmann::json cached_library(const Plan &plan);

}  // namespace halyard

#endif
