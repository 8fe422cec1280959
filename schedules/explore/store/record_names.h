#ifndef HALYARD_EXPLORE_RECORD_NAMES_H
#define HALYARD_EXPLORE_RECORD_NAMES_H

/** \file
 * Records may come from anybody: what of them becomes the name of a file, or a parameter of a generator, is checked.
 */

#include "explore/store/entry.h"

namespace halyard::explore {

/** Throws Failure where the op or the generator of a record is no name, or a parameter has one that none has. */
void check_names(const Entry &entry);

}  // namespace halyard::explore

#endif
