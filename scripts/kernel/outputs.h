#ifndef HALYARD_KERNEL_OUTPUTS_H
#define HALYARD_KERNEL_OUTPUTS_H

/** \file
 * What counts of that which a generator left in its folder. It may be a stranger's, or have run a stranger's schedule: files of
 * other names, folders, links and pipes are not looked at, and go with the folder.
 */

#include <filesystem>
#include <string>
#include <vector>

namespace halyard {

/** The files that are called FUNCTION, a dot or a dash, and letters, digits and `.-_+` after it, sorted; none that has another name
 * elsewhere. */
std::vector<std::filesystem::path> outputs_in(const std::string &directory, const std::string &function);

/** How much of a text that a generator left is read by the command, which has no limit of memory: more than any report, header or
 * listing has. */
constexpr size_t kMostText = size_t(64) << 20;

/** Those whose names end so. */
std::vector<std::filesystem::path> outputs_in(const std::string &directory, const std::string &function, const std::string &extension);

}  // namespace halyard

#endif
