#ifndef HALYARD_COMMAND_PLACE_H
#define HALYARD_COMMAND_PLACE_H

/** \file
 * Puts finished files in their place, so that nobody ever sees half of one: they are written beside it and renamed. What stands
 * there and is no file, as a folder or a FIFO, is an error and stays. Where one file was named, a link leads to what is written,
 * and a character device, as /dev/null, is written into.
 */

#include <string>
#include <vector>

namespace halyard {

/** Throws Failure where no file can be put at one of the paths, or two are the same; "" is none. For the beginning of a command, so
 * that no work is lost. */
void check_outputs(const std::vector<std::string> &paths);

/** Throws Failure where the file cannot be written to its last byte; then what was there stays. */
void write_output(const std::string &path, const std::string &content);

/** Renames the outputs of `function` (outputs.h) in `from` into `to` (same file system), once nothing stands in the way of any and the
 * make rule is written. A header whose content is the same stays as it is, so that nothing that includes it is rebuilt. `depfile`, where
 * it is not "", gets the rule that they depend on `inputs`. The paths of all of them, sorted. */
std::vector<std::string> place_files(const std::string &from, const std::string &function, const std::string &to,
                                     const std::string &depfile, const std::vector<std::string> &inputs);

}  // namespace halyard

#endif
