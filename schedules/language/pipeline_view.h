#ifndef HALYARD_PIPELINE_VIEW_H
#define HALYARD_PIPELINE_VIEW_H

/** \file
 * A Halide pipeline by the names that its author wrote: Funcs, loops, parameters.
 *
 * Halide makes names unique by suffixes (`y$1`, `col$x`, `row.row_outer`); schedules use the
 * names without them. A Func without a name is `func_0`, `func_1`, ... in the order in which they were made.
 */

#include <map>
#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

/** `col$x` -> "col", `y$1` -> "y", `row.row_outer` -> "row_outer". */
std::string plain_name(const std::string &halide_name);

/** The same of a loop or a dimension. One whose Var has no name is `var_0`, `var_1`, ... in the order in which they were made, and an RDom
 * without a name is `r`: Halide's own names for them are others for each target. */
std::string loop_name(const std::string &halide_loop);

/** `row.row_outer` -> "row_outer": what words of Halide take. */
std::string unqualified(const std::string &halide_loop);

/** Names of loops of a stage: of an RDom of several dimensions `r$x`, `r$y` are "r_x", "r_y". */
class LoopNamer {
public:
    explicit LoopNamer(const Halide::Internal::StageSchedule &schedule);
    std::string operator()(const std::string &halide_loop) const;

private:
    std::map<std::string, int> dimensions_;  // of each RDom
};

/** Whether Halide calls a variable of a loop so, as `row.min`: a loop made of that one, `row.min` too, would be taken for it. */
bool is_variable_of_loops(const std::string &name);

/** A loop of a stage as schedules name it. */
struct LoopName {
    std::string name;    // plain
    std::string halide;  // what Halide calls it
    bool is_rvar = false;
};

/** The loops of a stage from the innermost outwards. */
std::vector<LoopName> loops_of(const Halide::Stage &stage);

/** The dimensions of a Func, the innermost in memory first. */
std::vector<std::string> dimensions_of(const Halide::Internal::Function &f);

/** One stage of a Func: 0 is the pure definition, i+1 update i. */
Halide::Stage stage_of(const Halide::Func &f, int index);

class PipelineView {
public:
    explicit PipelineView(const Halide::Pipeline &pipeline);

    struct Entry {
        std::string name;  // plain, unique within the pipeline
        Halide::Internal::Function function;
        Halide::Parameter parameter;  // of an input buffer's Func, else undefined
        bool is_output = false;
    };

    /** Every Func and input buffer, by plain name in alphabetical order. */
    const std::map<std::string, Entry> &funcs() const {
        return funcs_;
    }

    /** Scalar inputs by name. */
    const std::map<std::string, Halide::Parameter> &scalars() const {
        return scalars_;
    }

    std::vector<std::string> names() const;

    /** The Funcs that call a Func, by plain name in the order of their names, of those without one by age; it itself is none. */
    std::vector<std::string> readers_of(const Halide::Func &func) const;

    /** The plain name of a Func by Halide's name of it; wrappers are named after what they wrap. */
    std::string name_of(const std::string &halide_name) const;

    /** Takes note of a Func that a word made: a wrapper, an rfactor intermediate. */
    std::string add(const Halide::Func &f, const std::string &wanted_name);

    const std::vector<Halide::Internal::Function> &outputs() const {
        return outputs_;
    }

private:
    std::map<std::string, Entry> funcs_;
    std::map<std::string, Halide::Parameter> scalars_;
    std::map<std::string, std::string> plain_by_halide_;
    std::vector<Halide::Internal::Function> outputs_;
};

}  // namespace halyard

#endif
