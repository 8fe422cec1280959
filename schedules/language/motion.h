#ifndef HALYARD_MOTION_H
#define HALYARD_MOTION_H

/** \file
 * How the ends of what is needed of a Func are from turn to turn of a loop: some move with it, others stay.
 */

#include <map>
#include <string>

#include <Halide.h>

namespace halyard {

constexpr int kMoves = 1, kStays = 2;

/** Of several calls, or a min or a max, an end may be both. */
struct Motion {
    int low = kStays, high = kStays;

    bool operator==(const Motion &other) const {
        return low == other.low && high == other.high;
    }
};

/** Of variables, by name; what is not among them stays. */
using Motions = std::map<std::string, Motion>;

/** Of what is one or the other. */
Motion either(const Motion &a, const Motion &b);

/** Of an index, whose variables move so. */
Motion motion_of(const Halide::Expr &e, const Motions &variables);

/** Adds the reductions that a condition ends, as r < col does. */
void add_bounds(const Halide::Expr &condition, Motions &variables);

}  // namespace halyard

#endif
