#ifndef HALYARD_COMMAND_EXPLORE_DEVICE_H
#define HALYARD_COMMAND_EXPLORE_DEVICE_H

/** \file
 * `halyard explore` for CUDA: on the device here, or by way of a folder that a machine with one measures.
 */

#include "explore_memory.h"
#include "explore_options.h"
#include "search.h"
#include "terminal.h"

namespace halyard {

/** Completes a task for CUDA. The device is this machine's, unless another is named, whose measurements come by
 * `halyard db import`. Throws Failure where there is none. */
void choose_device(const ExploreOptions &options, explore::Task &task);

/** The schedules for CUDA that ship and take the task's arguments: its own first, whose word for those counts. */
std::vector<explore::Candidate> shipped_for_cuda(const ExploreOptions &options, explore::Task &task);

/** Builds what is to be measured next, for a machine with a GPU. */
void export_candidates(const ExploreOptions &options, const explore::Task &task, explore::Search &search, Memory &memory,
                       Progress &progress);

}  // namespace halyard

#endif
