#ifndef HALYARD_AUTOSCHEDULE_H
#define HALYARD_AUTOSCHEDULE_H

/** \file
 * Halide's own autoschedulers, which come as plugins beside libHalide.
 */

#include <string>
#include <vector>

#include "language/index_value.h"
#include "language/pipeline_view.h"

namespace halyard {

/** "Mullapudi2016", ... */
const std::vector<std::string> &halide_autoschedulers();

/** The sizes that a generator estimates for its buffers and integers, as far as they begin at 0. */
BufferSizes estimated_sizes(const PipelineView &view);

/** Schedules the whole pipeline, for buffers of these sizes. Throws Halide::Error. */
void autoschedule(const PipelineView &view, const Halide::Target &target, const std::string &name, int parallelism,
                  const BufferSizes &sizes);

}  // namespace halyard

#endif
