#ifndef HALYARD_COMMAND_CACHE_FILE_H
#define HALYARD_COMMAND_CACHE_FILE_H

/** \file
 * Files of the cache, which may have been cut or changed since they were written: loading such a library ends the process.
 */

#include <string>

namespace halyard {

/** Size and hash of a file of the cache, as text: what is kept beside it. */
std::string seal_of(const std::string &bytes);

/** Whether the regular file at `path` has this seal still. It waits for nothing, and reads no file of another size. */
bool has_seal(const std::string &path, const std::string &seal);

/** Puts a finished file in its place at once, whatever has been there. */
void put_in_cache(const std::string &made, const std::string &path);

}  // namespace halyard

#endif
