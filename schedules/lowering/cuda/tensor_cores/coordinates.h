#ifndef HALYARD_LOWERING_CUDA_COORDINATES_H
#define HALYARD_LOWERING_CUDA_COORDINATES_H

/** \file
 * Halide flattens f(i, j) into an index; TMA wants i and j back.
 */

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lowering/cuda/simt/linear.h"

namespace halyard {

/** What is known of the variables of an index. */
struct IndexVariables {
    std::vector<std::string> tile;                // of loops over a tile
    std::map<std::string, Halide::Expr> extents;  // of those that begin at 0: blocks of a launch, steps
    bool inside = true;  // whether the first element of a tile is one of the buffer, wherever anybody needs what is read
};

/** The coordinates of an element, from the start of the buffer, one for each dimension; `index` with its lets expanded,
 * but those of the buffer's strides, which are variables. Nothing where the index is no sum of coordinates times strides. */
std::optional<std::vector<Halide::Expr>> coordinates(const Halide::Expr &index, const std::string &buffer, int dimensions);

/** The same by what strides are, as of a buffer that the pipeline allocates; all lets of these and of the index are expanded.
 * There an index may be of several coordinates: with rows of 64, 64 is (64, 0) and (0, 1). It is the one inside of the
 * buffer that is meant. Where it is not proved to be inside, a coordinate is the remainder of what it counts in the next
 * dimension, if the variables say that this is right; else there is nothing. */
std::optional<std::vector<Halide::Expr>> coordinates(const Halide::Expr &index, const std::string &buffer,
                                                     const std::vector<Halide::Expr> &strides, const IndexVariables &variables);

/** The dimensions that a buffer has, by the strides among the variables of an index. */
int rank_of(const std::set<std::string> &variables, const std::string &buffer);

/** Without the bounds that an algorithm puts on a coordinate so that a schedule may round up: min(x, last) becomes x.
 * Whoever reads there gets something else, which nothing may depend on. Bounds are those minima and maxima of which one
 * side alone has a variable of `loops` in it. */
Halide::Expr without_clamps(const Halide::Expr &e, const std::vector<std::string> &loops);

}  // namespace halyard

#endif
