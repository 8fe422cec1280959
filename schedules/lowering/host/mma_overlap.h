#ifndef HALYARD_LOWERING_MMA_OVERLAP_H
#define HALYARD_LOWERING_MMA_OVERLAP_H

/** \file
 * What consumes the sums of a product, with the next product under way in its loops (runtime/mma_ahead.h).
 */

#include <string>

#include <Halide.h>

namespace halyard {

/** The statement with a call of `step` in each turn of its innermost loops: with the memory `ahead`, whose first number counts the
 * turns, and the turn. What they load again and again from buffers that they do not write is loaded before them, as nothing is moved
 * over a call. */
Halide::Internal::Stmt step_in_loops(const Halide::Internal::Stmt &consumer, const std::string &ahead, const std::string &step);

/** For how many pairs of tiles a turn of the innermost loops has time, in what consumes `func` in `body`: up to four, 0 where they do
 * so little that calls cost more than overlapping gains. */
int pairs_a_turn(const std::string &func, const Halide::Internal::Stmt &body);

}  // namespace halyard

#endif
