#ifndef HALYARD_ADDRESSES_H
#define HALYARD_ADDRESSES_H

/** \file
 * The addresses of a load or a store, as steps of the loops around it.
 */

#include "language/loop_tree.h"
#include "language/loops_around.h"

namespace halyard {

/** Of an access to `index` (of elements): base, bytes, steps and anchors, `exact` and `known`. The rest of it
 * is left to the caller. */
Access addresses(LoopsAround &loops, const Halide::Type &type, const Halide::Expr &index);

}  // namespace halyard

#endif
