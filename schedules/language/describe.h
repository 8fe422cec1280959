#ifndef HALYARD_DESCRIBE_H
#define HALYARD_DESCRIBE_H

/** \file
 * A pipeline as facts for a search: autoscheduler.describe. Which Funcs there are, with which loops and extents at one
 * size of the buffers, who reads whom and how, and what an element costs.
 */

#include <nlohmann/json.hpp>

#include "language/index_value.h"
#include "language/pipeline_view.h"

namespace halyard {

/** Throws Halide::Error where the pipeline cannot be lowered. */
nlohmann::json describe(const Halide::Pipeline &pipeline, const PipelineView &view, const Halide::Target &target, const BufferSizes &sizes);

}  // namespace halyard

#endif
