#ifndef HALYARD_LOWERING_FOLD_CHECKS_H
#define HALYARD_LOWERING_FOLD_CHECKS_H

/** \file
 * Checks of folded storage, and of the bounds that a schedule says of a Func, before anything is computed.
 */

#include <Halide.h>

namespace halyard {

/** Halide checks in each turn of a loop that what is kept of a Func fits into its folded storage: where a late turn does not, a
 * part of the output has been written. This is what the checks are made of: the loops around them, and the numbers that they
 * count in. What of them depends on computed values is left out. Undefined where there is no such check. Bounds of a Func that is
 * computed in no loop are checked where it is computed, when other outputs may have been written: these are among them, too.
 *
 *   for o: assert(fits(o)); f = ...; y = ...    ->    for o: assert(fits(o))
 */
Halide::Internal::Stmt checks_of_folds(const Halide::Internal::Stmt &s);

}  // namespace halyard

#endif
