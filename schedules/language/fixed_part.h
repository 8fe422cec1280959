#ifndef HALYARD_FIXED_PART_H
#define HALYARD_FIXED_PART_H

/** \file
 * A script that leaves a part of itself to a search, as facts for it: which Funcs are open, and the places and loops of
 * all others.
 */

#include <nlohmann/json.hpp>

#include "language/index_value.h"
#include "language/pipeline_view.h"
#include "language/script.h"

namespace halyard {

/** Sets the numbers that the algorithm leaves to the script (open_numbers.h), as calls of these sizes have them. */
void set_numbers_of_script(const Halide::Pipeline &pipeline, PipelineView &view, const std::string &path, const ScriptOptions &options,
                           const BufferSizes &sizes);

/** Runs a script over a pipeline that will not be compiled. Throws ScriptError. */
nlohmann::json describe_script(PipelineView &view, const Halide::Target &target, const std::string &path, const ScriptOptions &options,
                               const BufferSizes &sizes);

}  // namespace halyard

#endif
