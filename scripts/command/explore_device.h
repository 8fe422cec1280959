#ifndef HALYARD_COMMAND_EXPLORE_DEVICE_H
#define HALYARD_COMMAND_EXPLORE_DEVICE_H

/** \file
 * `halyard explore` for CUDA: on the device here, or by way of a folder that a machine with one measures.
 */

#include "explore/compare/compare.h"
#include "command/explore_memory.h"
#include "command/explore_options.h"
#include "explore/space/search.h"
#include "kernel/terminal.h"

namespace halyard {

/** Completes a task for CUDA. The device is this machine's, unless another is named, whose measurements come by
 * `halyard db import`. Throws Failure where there is none. */
void choose_device(const ExploreOptions &options, explore::Task &task);

/** What a comparison for CUDA is made with: the device here, else the one that `gpu` names, else the one of the newest
 * measurement of the task, else one of the architecture that the task is built for. Completes the task as choose_device()
 * does, but where there is no device takes what there is to know. */
explore::OnDevice compared_device(const CommonOptions &options, const std::string &gpu, explore::Task &task);

/** The schedules for CUDA that ship and take the task's arguments: its own first, whose word for those counts. */
std::vector<explore::Candidate> shipped_for_cuda(const ExploreOptions &options, explore::Task &task);

/** Builds what is to be measured next, for a machine with a GPU. */
void export_candidates(const ExploreOptions &options, const explore::Task &task, explore::Search &search, Memory &memory,
                       Progress &progress);

}  // namespace halyard

#endif
