#ifndef HALYARD_COMMAND_EXPLORE_MODEL_H
#define HALYARD_COMMAND_EXPLORE_MODEL_H

/** \file
 * halyard explore MODEL.onnx: looks for what is better computed together or apart, and for the numbers of each group's schedule. It
 * changes many groups at a time, and keeps of these changes the ones whose groups became quicker, in turns with the best so far.
 */

#include "command/explore_options.h"

namespace halyard {

/** Whether it is a model that is to be searched, not an op. */
bool is_model(const std::string &op);

/** Throws Failure, UsageError, and Interrupted once the best so far is in its place. */
void explore_model(const ExploreOptions &o);

}  // namespace halyard

#endif
