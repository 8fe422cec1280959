#ifndef HALYARD_LOWERING_CUDA_INVARIANT_CONDITIONS_H
#define HALYARD_LOWERING_CUDA_INVARIANT_CONDITIONS_H

/** \file
 * Conditions that load something, and are the same in all turns of a loop. Halide leaves them inside, as it takes no call of a Func out of a loop:
 *
 *   for i < 16: { v = x[p][i]; if (live[p]) bins[v] += 1 }     ->     if (live[p]) for i < 16: { v = x[p][i]; bins[v] += 1 }
 */

#include <Halide.h>

namespace halyard {

/** Takes them out of loops with a constant number of turns, outside of which nothing is stored but under the condition, and in which nothing
 * that it loads is stored. */
Halide::Internal::Stmt ask_invariant_conditions_once(const Halide::Internal::Stmt &body);

}  // namespace halyard

#endif
