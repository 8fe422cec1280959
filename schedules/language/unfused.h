#ifndef HALYARD_UNFUSED_H
#define HALYARD_UNFUSED_H

/** \file
 * A pipeline in which every Func is stored whole: what has to be computed at least.
 */

#include <Halide.h>

#include "language/index_value.h"
#include "language/loop_tree.h"

namespace halyard {

/** Of a copy of the pipeline, which stays as it is. Throws Halide::Error. */
LoopTree unfused_tree(const Halide::Pipeline &pipeline, const Halide::Target &target, const BufferSizes &sizes);

/** Bytes of a vector, and the number of vector registers. */
int vector_bytes(const Halide::Target &target);
int vector_registers(const Halide::Target &target);

}  // namespace halyard

#endif
