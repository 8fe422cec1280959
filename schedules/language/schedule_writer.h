#ifndef HALYARD_SCHEDULE_WRITER_H
#define HALYARD_SCHEDULE_WRITER_H

/** \file
 * What a schedule has changed, in our words.
 */

#include <map>
#include <string>

#include "language/new_funcs.h"
#include "language/pipeline_view.h"

namespace halyard {

/** The statements of an `apply` that make of a pipeline as it was before what `view` is now, indented by four blanks. Throws std::runtime_error where
 * there are no words for it. */
std::string write_schedule(const PipelineView &view, const std::map<std::string, FuncBefore> &before);

}  // namespace halyard

#endif
