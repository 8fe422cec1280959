#ifndef HALYARD_COMMAND_EXPLORE_WORKERS_H
#define HALYARD_COMMAND_EXPLORE_WORKERS_H

/** \file
 * `halyard explore --workers`: candidates are built here and measured on the machines of a cluster.
 */

#include <memory>

#include "command/explore_options.h"
#include "explore/workers/cluster.h"
#include "kernel/terminal.h"

namespace halyard {

/** Throws UsageError where another option asks for something that is done here, or elsewhere. */
void check_workers(const ExploreOptions &options);

/** Joins the cluster, and completes the task for the machines that measure: what a search on one of them would search. */
std::unique_ptr<explore::Cluster> join_workers(const ExploreOptions &options, explore::Task &task, Progress &progress);

/** Memory and peaks of the machines that measure, once for a task; null where they are those of this machine, or for CUDA. */
std::shared_ptr<const Machine> machine_of_workers(const ExploreOptions &options, const explore::Task &task, explore::Cluster &cluster,
                                                  Progress &progress);

}  // namespace halyard

#endif
