#ifndef HALYARD_LOWERING_MMA_TOUCHED_H
#define HALYARD_LOWERING_MMA_TOUCHED_H

/** \file
 * What the consumer of a product's sums goes on to write and to read, row by row.
 */

#include <set>
#include <string>

#include <Halide.h>

namespace halyard {

/** Rows of a buffer of the caller's. */
struct Touched {
    std::string buffer;
    Halide::Expr start, stride;  ///< in elements; undefined if there is nothing
    Halide::Expr rows;
    int bytes = 0;  ///< of an element
};

struct TouchedRows {
    Touched written, read;
};

/** Of the first loop of what consumes `func` in `body`, one buffer each; `own` are buffers that are not the caller's. */
TouchedRows touched_by_consumer(const std::string &func, const Halide::Internal::Stmt &body, const std::set<std::string> &own);

}  // namespace halyard

#endif
