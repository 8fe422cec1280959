#ifndef HALYARD_LOWERED_TREE_H
#define HALYARD_LOWERED_TREE_H

/** \file
 * From Halide's lowered statement to a LoopTree.
 */

#include "language/index_value.h"
#include "language/loop_tree.h"

namespace halyard {

/** `vector_bytes` is the target's vector, `registers` how many of them there are. */
LoopTree loop_tree(const Halide::Internal::Stmt &lowered, const BufferSizes &sizes, int vector_bytes, int registers);

}  // namespace halyard

#endif
