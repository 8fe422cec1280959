#ifndef HALYARD_EXPLORE_PACK_H
#define HALYARD_EXPLORE_PACK_H

/** \file
 * Candidates that are built on one machine and measured on another: a folder with their libraries, what they are checked
 * against, and the command that does it, with what it needs. There it is called as `./measure`, and what it writes,
 * results.jsonl, is for `halyard db import`.
 */

#include <functional>
#include <string>
#include <vector>

#include "explore/task.h"

namespace halyard::explore {

using Say = std::function<void(const std::string &)>;

/** Builds all and adds them to the folder, which may hold other tasks. A pending result for each that is to be measured;
 * others could not be built. Throws Failure where nothing that is known to be right builds. */
std::vector<Measured> write_pack(const Task &task, const std::vector<Candidate> &candidates, const std::string &folder, const Say &say);

/** Checks and times what is in the folder, each in a process of its own; what results.jsonl has already is left out. The
 * number of results that are right. */
size_t measure_pack(const std::string &folder, const Say &say);

}  // namespace halyard::explore

#endif
