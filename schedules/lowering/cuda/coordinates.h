#ifndef HALYARD_LOWERING_CUDA_COORDINATES_H
#define HALYARD_LOWERING_CUDA_COORDINATES_H

/** \file
 * Halide flattens f(i, j) into an index; the copy engine wants i and j back.
 */

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "linear.h"

namespace halyard {

/** The coordinates of an element, from the start of the buffer, one for each dimension; `index` with its lets expanded,
 * but those of the buffer's strides; `strides` are those of a buffer that the pipeline allocates, for which there are no
 * variables. Nothing where the index is no sum of coordinates times strides. */
std::optional<std::vector<Halide::Expr>> coordinates(const Halide::Expr &index, const std::string &buffer, int dimensions,
                                                     const std::vector<Halide::Expr> &strides = {});

/** The dimensions that a buffer has, by the strides among the variables of an index. */
int rank_of(const std::set<std::string> &variables, const std::string &buffer);

/** Without the bounds that an algorithm puts on a coordinate so that a schedule may round up: min(x, last) becomes x.
 * Whoever reads there gets something else, which nothing may depend on. Bounds are those minima and maxima of which one
 * side alone has a variable of `loops` in it. */
Halide::Expr without_clamps(const Halide::Expr &e, const std::vector<std::string> &loops);

}  // namespace halyard

#endif
