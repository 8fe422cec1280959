#ifndef HALYARD_LIBM_CALLS_H
#define HALYARD_LIBM_CALLS_H

/** \file
 * Calls of the C library's functions that are left in a lowered program for the host: one for each element, whatever is vectorized.
 */

#include <map>
#include <set>
#include <string>

#include <Halide.h>

namespace halyard {

/** The functions, by the name that the program has for what calls them in a loop: of the array that is stored. */
std::map<std::string, std::set<std::string>> libm_calls(const Halide::Internal::Stmt &lowered);

}  // namespace halyard

#endif
