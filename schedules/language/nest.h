#ifndef HALYARD_NEST_H
#define HALYARD_NEST_H

/** \file
 * The loop nest of a scheduled pipeline, each line beside the script line that made it.
 */

#include <string>
#include <vector>

#include "language/binding.h"

namespace halyard {

struct NestLine {
    std::string text;
    std::string file;  // "" where no word made the line: Halide's default
    int line = 0;
};

/** Halide's loop nest with plain names. Throws Halide::Error where the schedule is not complete. */
std::vector<NestLine> loop_nest(const PipelineView &view, const std::vector<Touch> &touches);

/** Halide's name of a loop in a lowered program without what its passes add: the coordinate of a GPU that the loop became, and that it
 * begins at 0. */
std::string without_halides(std::string loop);

/** A message of Halide with the names that the author wrote: `sum$3.s1.r$x` is "sum.s1.r". */
std::string plain_message(const PipelineView &view, std::string message);

/** The last line of the script that had to do with a Func or loop named in `message`, which is an
 * error that Halide raised after the script had ended; line 0 if there is none. `word` is one that it is about without naming it, or "". */
Touch blame(const std::string &message, const std::string &word, const PipelineView &view, const std::vector<Touch> &touches);

}  // namespace halyard

#endif
