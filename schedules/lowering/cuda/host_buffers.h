#ifndef HALYARD_LOWERING_CUDA_HOST_BUFFERS_H
#define HALYARD_LOWERING_CUDA_HOST_BUFFERS_H

/** \file
 * What the host's IR says of buffers: those of the caller, and those that a pipeline allocates.
 */

#include <string>
#include <vector>

#include <Halide.h>

#include "lowering/cuda/tensor_cores/tile_program.h"

namespace halyard {

/** A condition on sizes, before they have names. */
Halide::Expr of_arguments(const Halide::Expr &condition);

/** Of buffers of the caller whose strides the generator says; of the others all but the first are variables. And the extents that it
 * says. */
Strides strides_of_generator(const Halide::Internal::Stmt &s);

/** Of a buffer that the pipeline allocates, whose fields are made by `value`: min, extent, stride and flags for each dimension. */
std::vector<Halide::Expr> dimensions_in(const Halide::Expr &value);

/** Whether a buffer is asked for one of its fields, as only the host can. */
bool asks_buffer(const Halide::Expr &e);

/** An array that an expression loads from; "" if there is none. */
std::string array_read_by(const Halide::Expr &e);

}  // namespace halyard

#endif
