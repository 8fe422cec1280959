#ifndef HALYARD_COMMAND_EXPLAIN_SENTENCES_H
#define HALYARD_COMMAND_EXPLAIN_SENTENCES_H

/** \file
 * What a terminal shows below the tables of an explanation, for the host and for CUDA.
 */

#include <functional>
#include <string>
#include <vector>

#include "explain/explain.h"

namespace halyard {

/** What there is to say about a schedule, and its notes. */
void print_about(const Explained &e, const std::vector<std::string> &sentences);

/** The first schedule against each of the others, in the sentences of `compared`. */
void print_comparisons(const std::vector<Explained> &all, const std::function<std::vector<std::string>(const Explained &other)> &compared);

}  // namespace halyard

#endif
