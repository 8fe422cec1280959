#ifndef HALYARD_FOOTPRINT_H
#define HALYARD_FOOTPRINT_H

/** \file
 * The union of address sets such as base + 4 * i + 4096 * j, counted in cache lines.
 */

#include <functional>

#include "language/loop_tree.h"

namespace halyard {

constexpr int64_t kLine = 64;

/** Sets of bytes: whole intervals, and how many disjoint copies of them there are. */
class Region {
public:
    /** The addresses of an access when the loops first <= number < last run and others stand still. */
    static Region of(const Access &access, int first_loop, int last_loop);

    /** The union, where the sets' steps allow it; else a bound. */
    void add(Region other);

    /** Bytes in whole lines. */
    double bytes() const;

private:
    struct Interval {
        int64_t begin, end;
    };
    struct Copies {
        int64_t stride, count;
    };
    void merge();
    bool has(int64_t address) const;
    /** The part of this that is in the other, by samples. */
    double part_in(const Region &other) const;
    int64_t span_begin() const;
    int64_t span_end() const;

    std::vector<Interval> intervals_;
    double copies_ = 1;          // as many as `steps_` say, times what else was added
    std::vector<Copies> steps_;  // from the one copy to all, inside out
    std::vector<Region> more_;   // what was added and is no copy of it
};

}  // namespace halyard

#endif
