#ifndef HALYARD_HALIDE_TEXTS_H
#define HALYARD_HALIDE_TEXTS_H

/** \file
 * Halide's messages, said again in the words of scripts.
 */

#include <string>
#include <vector>

#include "language/pipeline_view.h"

namespace halyard {

struct PlainText {
    std::string message, hint;
    std::string word;  // that the message is about, where Halide does not name it
};

/** Of what Halide says, with its names of loops and Funcs, its advice for C++ and its own words for what a schedule did. A message
 * that nobody put into other words keeps its text, with the names of the script. */
PlainText plain_text(const PipelineView &view, const std::string &halide);

/** A message in which names that Halide made up for a part of a loop, as "v14", are that of the first of `loops` which an author named. */
std::string with_loop(const std::string &text, const std::vector<std::string> &loops);

}  // namespace halyard

#endif
