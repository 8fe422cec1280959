#ifndef HALYARD_FUSED_LOOP_H
#define HALYARD_FUSED_LOOP_H

/** \file
 * A loop that was fused, taken apart again.
 */

#include "language/index_value.h"

namespace halyard {

/** How far its variable moves in one iteration of each of the loops that it was fused from, innermost first;
 * {1} where it was not fused. */
std::vector<int64_t> fused_steps(const Halide::Internal::For *op, int64_t extent, IndexValue &value);

}  // namespace halyard

#endif
