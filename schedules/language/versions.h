#ifndef HALYARD_VERSIONS_H
#define HALYARD_VERSIONS_H

/** \file
 * Several versions of a schedule in one library, of which a call takes one by its sizes:
 *
 *   y, as scheduled for all calls
 *     ->
 *   if (cols <= 4096) y, as scheduled with threads = 256
 *   else y, as scheduled with threads = 512
 *
 * `specialize` has versions of one stage; these are of the whole pipeline, with what is computed inside of its loops, where it is
 * kept, and how many threads there are. Each is a copy of the pipeline, scheduled and lowered by itself.
 */

#include <map>
#include <memory>
#include <string>

#include "language/binding.h"
#include "language/open_numbers.h"
#include "language/index_value.h"
#include "language/script.h"

namespace halyard {

struct ScheduleVersion {
    Halide::Expr condition;  // on sizes of a call; of the last, which is for all other calls, undefined
    Script::Version set;
    Halide::Expr when, cost;  // what the script says, of which the condition is made; either may be undefined
};

std::vector<ScheduleVersion> read_versions(Script &script, PipelineView &view);

/** What a version sets, as `--set` takes it. */
std::string text_of(const Script::Version &version);

/** The one that a call of these sizes takes. */
const ScheduleVersion &version_at(const std::vector<ScheduleVersion> &versions, const BufferSizes &sizes);

/** What this version has for the numbers that the algorithm leaves to its schedule (open_numbers.h). */
OpenNumbers open_numbers(const Script &script, const Script::Version &version);

/** A copy of a pipeline for a version of its schedule. */
class VersionedPipeline {
public:
    /** Of a pipeline to which no schedule was applied yet. */
    VersionedPipeline(const Halide::Pipeline &pipeline, const Script &script, const Script::Version &version);

    PipelineView &view() {
        return *view_;
    }

    /** Shares its contents with the copy. */
    Halide::Pipeline pipeline() const {
        return pipeline_;
    }

    /** What Halide makes of it, up to where custom passes begin. */
    Halide::Internal::Stmt lowered(const std::string &name, const Halide::Target &target) const;

    std::unique_ptr<Binding> binding;

private:
    void take_arrays();

    Halide::Pipeline pipeline_;
    OpenNumbers open_numbers_;
    std::map<std::string, Halide::Parameter> arrays_;  // of the pipeline that this one is a copy of
    std::unique_ptr<PipelineView> view_;
    std::vector<Halide::Internal::Stmt> requirements_;
};

}  // namespace halyard

#endif
