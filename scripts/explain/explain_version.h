#ifndef HALYARD_COMMAND_EXPLAIN_VERSION_H
#define HALYARD_COMMAND_EXPLAIN_VERSION_H

/** \file
 * Which version of a schedule a call takes, in sentences.
 */

#include <string>
#include <vector>

#include "explain/explain.h"

namespace halyard {

/** "Version 2 of 5: rows=4; taken because k.x:dim(0):extent() <= 2048, here 1000 <= 2048.", and why those before it are not; nothing of
 * a schedule that has one version. */
std::vector<std::string> about_version(const Explained &e);

}  // namespace halyard

#endif
