#ifndef HALYARD_STAGE_LOOPS_H
#define HALYARD_STAGE_LOOPS_H

/** \file
 * How the loops of a stage came about: what was split, fused and renamed since a start, and a name to read for each
 * loop on the way, whatever Halide calls it.
 */

#include <optional>
#include <string>
#include <vector>

#include "language/pipeline_view.h"

namespace halyard {

struct StageLoop {
    std::string halide;  // the whole name
    std::string name;    // to write
    std::string base;    // the first loop that it is a part of, as written
    bool is_rvar = false;
    int outer = -1;  // what is left of it after it was split, fused or renamed; -1 for a loop of the end
    int dim = -1;    // of a loop of the end: its place in the stage's dims
};

struct LoopStep {
    Halide::Internal::Split split;
    int old = -1, outer = -1, inner = -1;  // of a fuse, `old` is what it makes
};

/** The loops of a stage before anything was said that is to be found again. */
struct StageStart {
    std::vector<LoopName> loops;  // from the innermost outwards
    size_t splits = 0;
    bool ordered = true;  // false where the order of `loops` is not known
};

struct StageLoops {
    std::vector<StageLoop> loops;
    std::vector<LoopStep> steps;
    std::vector<int> unordered;  // the loops of the end as the steps leave them; empty where that is not known
    std::vector<int> order;      // as they are, innermost first
    bool single_thread = false;  // gpu_single_thread was said

    const Halide::Internal::Dim *dim(int loop, const Halide::Stage &stage) const;

    /** The loop of the end that a LoopLevel's variable is; -1 for none. */
    int find(const std::string &variable) const;
};

/** Throws std::runtime_error where a loop is not what the steps make. */
StageLoops loops_since(const StageStart &start, const Halide::Stage &stage);

}  // namespace halyard

#endif
