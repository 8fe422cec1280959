#ifndef HALYARD_COMMAND_EXPLAIN_WORDS_H
#define HALYARD_COMMAND_EXPLAIN_WORDS_H

/** \file
 * Why a schedule is as fast as it is, and why fusing pays or does not, in sentences.
 */

#include "explain/explain.h"

namespace halyard {

/** What limits one schedule, where its working set fits, what it computes more than once. */
std::vector<std::string> about_schedule(const Explained &e, const Machine &machine);

/** How the schedules were timed: in turns, with what noise, and what else used the machine. Nothing where they were not. */
std::vector<std::string> about_turns(const std::vector<Explained> &all);

/** Why a measured time may be below its floor, as a sentence; "" where it is not. */
std::string below_floor(const Cost &cost, double floor);

/** "A is predicted to be 1.20 times as fast as B", "A is predicted to be as fast as B" */
std::string predicted_text(const std::string &a, const std::string &b, double times);

/** The same of what was measured; in turns where they took turns. */
std::string measured_text(const Explained &a, const Explained &b, const Explained::InTurns &of_a, const Explained::InTurns &of_b,
                          double times);

/** Whether the times of the two differ by more than noise explains; of those that took no turns, by more than one in twenty. */
bool differ(const Explained::InTurns &a, const Explained::InTurns &b, double times);

/** The first schedule against another. */
std::vector<std::string> compare(const Explained &fused, const Explained &other, const Machine &machine);

std::string bytes_text(double bytes);             // "2.1 MB"
std::string seconds_text(double seconds);         // "12.3 us"
std::string flops_text(double flops);             // "1.20G"
std::string moved_text(const Bytes &b);           // "2.1 MB / 0 B": read and written
std::string place_text(const ExplainedStage &s);  // "y.row (softmax.lua:12)"

}  // namespace halyard

#endif
