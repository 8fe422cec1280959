#ifndef HALYARD_COMMAND_EXPLORE_OP_H
#define HALYARD_COMMAND_EXPLORE_OP_H

/** \file
 * `halyard explore OP`: a search, its turns at the end, and what is written of it.
 */

#include "command/explore_options.h"

namespace halyard {

/** What the options ask for; a model, a comparison, a guess and a translation are started from here too. Throws Failure and UsageError. */
void explore_op(const ExploreOptions &o);

}  // namespace halyard

#endif
