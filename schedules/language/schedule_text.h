#ifndef HALYARD_SCHEDULE_TEXT_H
#define HALYARD_SCHEDULE_TEXT_H

/** \file
 * A schedule that something else than a script has made, read back from Halide's own structures and written in our
 * words.
 */

#include <map>
#include <string>

#include "language/new_funcs.h"
#include "language/pipeline_view.h"

namespace halyard {

/** A pipeline as it was before it was scheduled; what is different later is what has been said. */
class ScheduleText {
public:
    explicit ScheduleText(const PipelineView &view);

    /** Of a pipeline that was scheduled while it was made: what it was before are the stages of `unscheduled`, the same algorithm made
     * once more, whose Funcs have the same names for scripts. Throws std::runtime_error where that one has loops of a schedule too. */
    ScheduleText(const PipelineView &view, const PipelineView &unscheduled);

    /** The statements of an `apply` that say the same, indented by four blanks. Throws std::runtime_error where there
     * are no words for it. */
    std::string statements() const;

private:
    const PipelineView &view_;
    std::map<std::string, FuncBefore> before_;  // by Halide's name of a Func
};

}  // namespace halyard

#endif
