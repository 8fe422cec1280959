#ifndef HALYARD_COMMAND_ASSIGNMENTS_H
#define HALYARD_COMMAND_ASSIGNMENTS_H

/** \file
 * Names and values, as --set and --param give them.
 */

#include <map>
#include <string>

namespace halyard {

using Assignments = std::map<std::string, std::string>;

}  // namespace halyard

#endif
