#ifndef HALYARD_UNSAFE_LOOPS_H
#define HALYARD_UNSAFE_LOOPS_H

/** \file
 * Loops and places that Halide 21 takes, and computes something else for. Each was found by a schedule that was tried; tests/ops/strange has
 * them.
 */

#include "language/binding.h"

namespace halyard {

/** Throws a ScriptError, at the line of the word that made it, for
 *  - an async Func with updates that is stored further out than it is computed: the first values for a turn are written over results that
 *    the turn before still reads;
 *  - an async Func of which a dimension is folded: Halide's threads may wait for each other for ever;
 *  - a Func with a dimension folded by fold_storage, in the loops of one that has other loops by specialize: the memory is that of one of
 *    them;
 *  - a parallel loop within a vectorized loop of the same stage;
 *  - an async Func of a CUDA library on one side of host and device, where other Funcs are on the other.
 * Call it when the script has ended. */
void check_unsafe_loops(const Binding &binding, const PipelineView &view);

}  // namespace halyard

#endif
