#ifndef HALYARD_LOWERING_MMA_TASK_H
#define HALYARD_LOWERING_MMA_TASK_H

/** \file
 * The body of a parallel loop that calls products in tiles, on the way down to one of them.
 */

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <Halide.h>

namespace halyard {

struct TileTask {
    std::set<std::string> writes;  ///< to these buffers

    /** A loop, a definition or a condition around a product, the outermost first; only loops have an extent, and a condition no
     * name. */
    struct Around {
        std::string name;
        Halide::Expr value, extent;
        std::set<std::string> writes = {};  ///< of a loop, to these buffers
    };
    std::vector<Around> around;

    /** Where a product will start in an operand when it is through with this part of it, or -1, and how many calls that takes.
     * `same` depends on whatever may not change until then; undefined: it is not known. */
    std::pair<Halide::Expr, Halide::Expr> next(Halide::Expr start, Halide::Expr same) const;

    /** Values by what is known where the task begins. Empty: some depend on its loops. */
    std::vector<Halide::Expr> at_begin(std::vector<Halide::Expr> values) const;

    /** What values are when a product is reached the next time, by the loops around it, and whether it is: nothing writes to `operands`
     * until then. */
    struct Turn {
        Halide::Expr there;
        std::vector<Halide::Expr> values;
    };
    Turn following(std::vector<Halide::Expr> values, const std::set<std::string> &operands) const;
};

}  // namespace halyard

#endif
