#ifndef HALYARD_COMMAND_CACHE_KEY_H
#define HALYARD_COMMAND_CACHE_KEY_H

/** \file
 * The name of a built library in the cache: a hash of everything that it is made of.
 */

#include <string>

#include "kernel/generate.h"

namespace halyard {

/** `linker` is what makes it a shared object. */
std::string cache_key(const Plan &plan, const std::string &linker);

}  // namespace halyard

#endif
