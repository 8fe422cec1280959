#ifndef HALYARD_EXPLORE_TRAVELLING_COMMAND_H
#define HALYARD_EXPLORE_TRAVELLING_COMMAND_H

/** \file
 * The command as it goes to other machines, on which there is no Halyard, or another version.
 */

#include <string>

namespace halyard::explore {

/** Puts the command into FOLDER/bin/halyard, and the libraries that it links into FOLDER/lib but for those of the C library, which
 * are the machine's. Throws Failure. */
void copy_command(const std::string &folder);

/** A text as a file that can be started. */
void write_program(const std::string &path, const std::string &content);

}  // namespace halyard::explore

#endif
