#ifndef HALYARD_EXPLORE_PICK_H
#define HALYARD_EXPLORE_PICK_H

/** \file
 * Schedules of the database as files, and which one a build takes.
 */

#include <string>

#include "explore/store/database.h"

namespace halyard::explore {

/** The script of an entry, in the folder of the cache: the same path for the same text. */
std::string script_file(const Entry &entry);

/** The one entry whose candidate has this id, or an id that begins so. Throws UsageError where there is none or several
 * candidates. */
Entry find_entry(Database &database, const std::string &id);

/** A request for just this schedule, with its parameters where the request has none of its own. */
GenerateRequest with_entry(GenerateRequest request, const Entry &entry);

/** Whose measurements count: the machine in the database whose name begins so, else `here`, else the one of the newest
 * record of the filter; "" where there is none. Throws UsageError where none begins so. */
std::string machine_of(Database &database, const Filter &filter, const std::string &name, const std::string &here);

/** What `halyard build` takes for a shape. */
struct Pick {
    bool found = false;
    GenerateRequest request;  // with the schedule of the database where one was found, else as it was
    std::string why;          // a sentence about what was taken: ready to print
    std::string schedule;     // "schedule ID of DATABASE" where one was found
};

/** The fastest schedule known for the request on this machine, else on one of its model, that leaves the interface of the library as the request has
 * it; of the first few, as each may take its limit of time to say what it wants, and anybody may have written them.
 * `threads` 0 takes whatever number of threads was measured, all processors first. For CUDA it is this machine's device, or
 * the one whose name begins like `machine`, or where there is none the one of the newest measurement. */
Pick pick(const std::string &database, const GenerateRequest &request, const Dims &shape, int threads, const std::string &machine = "");

}  // namespace halyard::explore

#endif
