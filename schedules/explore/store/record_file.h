#ifndef HALYARD_EXPLORE_RECORD_FILE_H
#define HALYARD_EXPLORE_RECORD_FILE_H

/** \file
 * Records as lines of JSON: what goes from one database to another, or is shipped with a library in place of one.
 */

#include <string>
#include <vector>

#include "explore/store/entry.h"

namespace halyard::explore {

/** All of them; "-" is standard input. Throws Failure that names the line of the first that is none. */
std::vector<Entry> read_records(const std::string &file);

/** Whether a file begins as one of records does: no database does. */
bool is_record_file(const std::string &file);

}  // namespace halyard::explore

#endif
