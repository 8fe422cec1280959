#ifndef HALYARD_EXPLORE_PLAN_H
#define HALYARD_EXPLORE_PLAN_H

/** \file
 * A schedule as a structure: which Funcs are inlined, stored, or computed in a loop of another, and what becomes of the
 * loops of each. planner.h makes it of decisions, lua_writer.h makes a script of it.
 */

#include "explore/space/choices.h"
#include "explore/space/description.h"

namespace halyard::explore {

/** A loop of a nest after all splits. */
struct Level {
    std::string name;
    std::vector<std::string> dims;  // that it runs over: several of a fused loop
    double extent = 1;
    std::vector<double> extents;  // by dimension
    bool inside_tile = false;     // of a tile of constant size
    bool vector = false;
};

/** What happens to a dimension of a nest before loops are put in order. */
struct Cut {
    std::string dim;
    int64_t tile = 1;         // iterations in the innermost part: 1 is no split
    bool registers = false;   // the tile is one of registers, of constant size
    bool shifted = false;     // the last tile is moved back where it would stick out; otherwise it is guarded
    int64_t task = 0;         // tiles (or iterations, of no tile) that a task takes; 0: no such split
    bool keeps_name = false;  // the innermost loop outside of a tile is called as the dimension is

    /** The loops that the splits make. */
    std::string inner() const {
        return dim + "_in";
    }
    std::string tiles() const {
        return dim + "_tile";
    }
    std::string tasks() const {
        return dim + "_task";
    }
    std::string in_task() const {
        return dim + (tile > 1 ? "_step" : "_in_task");
    }

    /** The loops that are there then: within a task, and the outermost one. */
    std::string step() const {
        return keeps_name ? dim : in_task();
    }
    std::string outermost() const {
        return task > 0 ? tasks() : keeps_name ? dim : tiles();
    }
};

/** The loops of a stage that is a root, or that others are computed in. */
struct Nest {
    std::string func;
    int stage = 0;
    std::vector<Cut> cuts;
    std::vector<Level> levels;     // innermost first
    std::vector<std::string> job;  // names of the loops that are fused into one, which is parallel
    std::string vector;            // the level that is in SIMD lanes; "" for none
    int64_t vectors = 1;           // SIMD vectors a step; 0: one of all of the loop
    bool half_vectors = false;     // of half the lanes: the loop is whole ones of those, and small
    bool whole_vectors = false;    // the vectorised level is a tile: its vectors are unrolled
    bool stream = false;
    bool unroll_rows = false;         // of a tile
    bool one_piece = false;           // no copies of loops for borders
    bool mma = false;                 // the tile is a block of a product that tile instructions make
    std::vector<std::string> inside;  // loops of its sum between the SIMD lanes and all others, innermost first
    std::string with;                 // computed in the loops of this other output, down to `with_level`
    std::string with_level;
};

enum class Place { kInlined, kRoot, kAt };

/** How an update's loops run. */
struct UpdateBody {
    /** kStrips: of a Func that is stored whole, along a free loop in SIMD lanes, with loops of its own. kPrivate: what is stored
     * goes anywhere, so that each task has a copy, and those are added. */
    enum Kind { kPlain, kLanes, kColumns, kTile, kDots, kMma, kStrips, kPrivate } kind = kPlain;
    std::string lanes_loop;          // kLanes, kDots: the reduction's loop in SIMD lanes
    std::string vector;              // kColumns, kTile: the free loop in SIMD lanes; kMma: the columns
    std::vector<std::string> order;  // innermost first; empty leaves it
    std::vector<std::string> unrolled;
    int64_t accumulators = 1;  // kLanes: vectors a step
    std::string grouped;       // a reduction's loop whose elements lie in groups
    int64_t group = 1;
    bool dot = false;      // a group is one instruction
    int64_t strip = 0;     // kStrips: iterations of the loop in SIMD lanes that a task takes, 0: all; kPrivate: of the split loop
    std::string parallel;  // kStrips without strips: the loop whose iterations are tasks
    int64_t depth = 0;     // kMma: of the grouped loop, what a call sums; 0: all of it
};

struct Placed {
    Place place = Place::kInlined;
    std::string in, level;    // kAt: the Func in whose loop, and the loop
    std::string store_level;  // kAt: kept from iteration to iteration inside this loop, which is further out
    int in_stage = 0;
    std::map<std::string, double> region;  // of each dimension: what is computed at once
    std::string vector;                    // the pure definition's loop in SIMD lanes
    std::string parallel;                  // the pure definition's loop whose iterations are tasks
    int64_t vectors = 1;
    int64_t width = 0;               // of it in elements, where it is not vectors
    std::vector<std::string> order;  // innermost first; empty leaves it
    std::vector<std::string> unrolled;
    std::map<std::string, int64_t> constant;  // dimensions that are promised to be of this size
    std::map<std::string, int64_t> at_most;   // and those to be no larger in memory
    std::vector<UpdateBody> updates;
    bool on_stack = false;
    double recomputed = 1;
    std::vector<std::string> storage;  // another order of dimensions in memory
};

struct Plan {
    std::map<std::string, Placed> placed;  // every Func
    std::map<std::string, Nest> nests;     // by Func
    std::vector<std::string> order;        // stored Funcs, each after all that read it

    /** "row_max at y.row, weight at y.row; logits inlined" */
    std::string fusion() const;
};

}  // namespace halyard::explore

#endif
