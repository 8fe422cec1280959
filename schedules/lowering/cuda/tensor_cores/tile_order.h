#ifndef HALYARD_LOWERING_CUDA_TILE_ORDER_H
#define HALYARD_LOWERING_CUDA_TILE_ORDER_H

/** \file
 * Generators take a maximum that keeps a NaN of integers in the order of the numbers (generators/math/order.h), six instructions
 * for each. The device has an instruction for it:
 *
 *   for row: largest[row] = order_key(c)
 *   for row: for col: largest[row] = max(largest[row], order_key(f(acc[row * columns + col])))
 *   for row: y[..] = g(largest[row])
 *     ->
 *   for row: largest[row] = c                                                                          -- a float
 *   for row: for col: largest[row] = max_or_nan(largest[row], f(acc[row * columns + col]))
 *   for row: y[..] = g(order_key(largest[row]))
 */

#include <map>
#include <string>
#include <vector>

#include "lowering/cuda/tensor_cores/fused_nest.h"

namespace halyard {

/** Rewrites the nests, and the types of `numbers`, for each number all of whose values are such keys. */
void take_maxima_of_floats(std::vector<FusedNest> &nests, std::map<std::string, Halide::Type> &numbers);

}  // namespace halyard

#endif
