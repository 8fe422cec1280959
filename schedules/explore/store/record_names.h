#ifndef HALYARD_EXPLORE_RECORD_NAMES_H
#define HALYARD_EXPLORE_RECORD_NAMES_H

/** \file
 * Records may come from anybody: what of them becomes the name of a file, a parameter of a generator or a line on the terminal is
 * checked, when they come in and when they are read.
 */

#include "explore/store/entry.h"

namespace halyard::explore {

constexpr size_t kMostMessageBytes = 64 << 10;  // of a measurement that failed

/** Throws Failure where the op or the generator of a record is no name, or a parameter has one that none has; where a text is longer
 * than any has to be, or has control characters where one line is meant; where a time is none. */
void check_record(const Entry &entry);

/** Throws Failure for a number of threads that no record has. */
int threads_of(int64_t number);

}  // namespace halyard::explore

#endif
