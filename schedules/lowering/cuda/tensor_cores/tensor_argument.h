#ifndef HALYARD_LOWERING_CUDA_TENSOR_ARGUMENT_H
#define HALYARD_LOWERING_CUDA_TENSOR_ARGUMENT_H

/** \file
 * Tensors as the host describes them to TMA, before a launch.
 */

#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

/** Dimensions that TMA takes, at most. */
constexpr int kMaxRank = 5;

/** A field of a buffer as the host has it, at a launch: `getter` is such as Call::buffer_get_extent. */
Halide::Expr field_on_host(const std::string &buffer, const char *getter, int dimension);

Halide::Expr address_on_host(const std::string &buffer);

/** What the launcher makes a descriptor of (runtime/cuda_tensor.h); `box` has an extent for each dimension, and `step` says
 * how far apart neighbours of the box are, where that is not 1. Along dimension `ends`, where there is one, it has `end` elements.
 * `swizzled`: lines of the box, of 64 or 128 bytes, lie in shared memory so that neighbours are in different banks. */
Halide::Expr tensor_argument(const std::string &buffer, const Halide::Type &type, const std::vector<int> &box,
                             const std::vector<int> &step = {}, int ends = -1, const Halide::Expr &end = Halide::Expr(),
                             bool swizzled = true);

/** Whether TMA takes a buffer of so many dimensions: its address and strides are multiples of 16 bytes, and
 * its rows do not overlap. */
Halide::Expr is_tensor(const std::string &buffer, const Halide::Type &type, int rank);

/** Whether it may store to such a buffer: its rows are whole chunks of 16 bytes, too. TMA loads the elements that a
 * tensor has and zeros for the others, but it stores chunks: of a row that ends within one, it would write what lies behind
 * the row, which is the caller's where rows are part of longer ones. */
Halide::Expr is_stored_tensor(const std::string &buffer, const Halide::Type &type, int rank);

}  // namespace halyard

#endif
