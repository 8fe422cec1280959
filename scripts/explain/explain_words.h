#ifndef HALYARD_COMMAND_EXPLAIN_WORDS_H
#define HALYARD_COMMAND_EXPLAIN_WORDS_H

/** \file
 * Why a schedule is as fast as it is, and why fusing pays or does not, in sentences.
 */

#include "explain/explain.h"

namespace halyard {

/** What limits one schedule, where its working set fits, what it computes more than once. */
std::vector<std::string> about_schedule(const Explained &e, const Machine &machine);

/** The first schedule against another. */
std::vector<std::string> compare(const Explained &fused, const Explained &other, const Machine &machine);

std::string bytes_text(double bytes);             // "2.1 MB"
std::string seconds_text(double seconds);         // "12.3 us"
std::string flops_text(double flops);             // "1.20G"
std::string moved_text(const Bytes &b);           // "2.1 MB / 0 B": read and written
std::string place_text(const ExplainedStage &s);  // "y.row (softmax.lua:12)"

}  // namespace halyard

#endif
