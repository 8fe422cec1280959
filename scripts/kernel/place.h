#ifndef HALYARD_COMMAND_PLACE_H
#define HALYARD_COMMAND_PLACE_H

/** \file
 * Puts finished files in their place, so that nobody ever sees half of one.
 */

#include <string>
#include <vector>

namespace halyard {

/** Renames every file of `from` into `to` (same file system). A header whose content is the same
 * stays as it is, so that nothing that includes it is rebuilt. The paths of all of them, sorted. */
std::vector<std::string> place_files(const std::string &from, const std::string &to);

/** Writes a make rule: the outputs depend on the inputs. */
void write_depfile(const std::string &path, const std::vector<std::string> &outputs, const std::vector<std::string> &inputs);

}  // namespace halyard

#endif
