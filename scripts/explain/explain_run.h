#ifndef HALYARD_COMMAND_EXPLAIN_RUN_H
#define HALYARD_COMMAND_EXPLAIN_RUN_H

/** \file
 * Builds, analyses and measures schedules of one op, so that they can be explained side by side.
 */

#include "explain/explain.h"
#include "kernel/generate.h"
#include "kernel/registry.h"

namespace halyard {

struct ExplainRequest {
    std::vector<GenerateRequest> schedules;
    Dims shape;
    int threads = 1;
    double seconds = 0.3;  // of measuring, a schedule
    bool again = false;    // measure the machine anew
    bool measure = true;   // false: only what is predicted
};

/** `say` is told what goes on. Throws Failure, UsageError or ScriptError. */
std::vector<Explained> explain_schedules(const Op &op, const ExplainRequest &request, const std::function<void(const std::string &)> &say);

/** Only what the plugin counts: nothing is compiled, and there are no cycles of llvm-mca. */
std::vector<Explained> count_schedules(const Op &op, const ExplainRequest &request);

}  // namespace halyard

#endif
