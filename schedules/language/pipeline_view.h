#ifndef HALYARD_PIPELINE_VIEW_H
#define HALYARD_PIPELINE_VIEW_H

/** \file
 * A Halide pipeline by the names that its author wrote: Funcs, loops, parameters.
 *
 * Halide makes names unique by suffixes (`y$1`, `col$x`, `row.row_outer`); schedules use the
 * names without them.
 */

#include <map>
#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

/** `col$x` -> "col", `y$1` -> "y", `row.row_outer` -> "row_outer". */
std::string plain_name(const std::string &halide_name);

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
