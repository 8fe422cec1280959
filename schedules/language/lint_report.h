#ifndef HALYARD_LINT_REPORT_H
#define HALYARD_LINT_REPORT_H

/** \file
 * The notes on a schedule (lint.h) as the plugin makes them: autoscheduler.lint.
 */

#include <memory>
#include <optional>

#include "language/lint.h"
#include "language/script.h"
#include "language/target_facts.h"

namespace halyard {

class LintReport {
public:
    /** `sizes` as the plugin takes them; of an argument that is not among them those that the generator estimates, else such that the
     * loops are long. Throws std::invalid_argument. */
    LintReport(const PipelineView &view, const Halide::Target &target, const TargetFacts &facts, const std::string &sizes);

    const BufferSizes &sizes() const {
        return sizes_;
    }

    /** Of the pipeline to which the schedule will be applied. */
    void before_schedule(const Halide::Pipeline &pipeline);

    /** Of what Halide makes of it. */
    void look(const Halide::Internal::Stmt &lowered, const Binding &binding, const ScriptHeader &header);

    /** Of what machine code is made of, on the host: the calls that are left there. */
    void look_for_calls(const Halide::Internal::Stmt &lowered, const Binding &binding, const ScriptHeader &header);

    std::vector<std::string> lines() const;

private:
    void add(const LintNote &note);

    Halide::Target target_;
    TargetFacts facts_;
    BufferSizes sizes_;
    std::optional<NeededWork> needed_;
    std::vector<std::string> lines_;
};

}  // namespace halyard

#endif
