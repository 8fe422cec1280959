#ifndef HALYARD_READS_H
#define HALYARD_READS_H

/** \file
 * Who reads whom, with the copies and clones that `in_` and `clone_in` put in between. Halide replaces the calls when it lowers the
 * pipeline; until then definitions call what was copied.
 */

#include <set>
#include <string>

#include <Halide.h>

namespace halyard {

/** What stands where a definition of `reader` calls `called`: itself, a copy or a clone. */
Halide::Internal::Function read_by(const Halide::Internal::Function &reader, Halide::Internal::Function called);

/** The names of all that `f` needs, directly or not. */
std::set<std::string> needs_of(const Halide::Internal::Function &f);

}  // namespace halyard

#endif
