#ifndef HALYARD_TRAFFIC_H
#define HALYARD_TRAFFIC_H

/** \file
 * What moves between the levels of memory when a loop tree runs.
 *
 * A footprint is the set of cache lines that a piece of the tree touches, by affine addresses. What
 * a loop touches is loaded once where one iteration's footprint fits the cache (the next iteration
 * finds what it shares with this one), and once an iteration where it does not. Between statements
 * that follow each other, data stays where the footprint between its two uses fits.
 */

#include <map>

#include "language/loop_tree.h"

namespace halyard {

struct Moved {
    double read = 0, written = 0;  // bytes

    Moved &operator+=(const Moved &o) {
        read += o.read;
        written += o.written;
        return *this;
    }
    double both() const {
        return read + written;
    }
};

/** By stage and array. */
using Movement = std::map<std::pair<int, int>, Moved>;

struct CacheSizes {
    double l1 = 32 << 10, l2 = 1 << 20, l3 = 32 << 20;  // bytes; 0 where there is none
};

/** A loop by the name that Halide gives it, every part of it. */
struct LoopCount {
    std::string name;
    int occurrence = 0;     // which one of that name in the program
    int stage = -1;         // the stage that it is a loop of; -1 where nothing in it is
    double entries = 0;     // times that it is started
    double iterations = 0;  // over all entries
    bool parallel = false, innermost = false;
    double footprint = 0;  // bytes that one iteration touches
};

struct StageTraffic {
    StageName name;
    std::vector<std::string> around;      // loops of other Funcs around it, from outside in
    Work work;                            // over the whole run
    double elements = 0;                  // stored
    double masked = 0;                    // lanes of the stores' vectors that are not
    Moved registers, l1;                  // by instructions: of all values, and of those in memory
    Moved l2, l3, memory;                 // the first call, nothing cached
    Moved l2_warm, l3_warm, memory_warm;  // a call that is repeated on the same data
    double streamed = 0;                  // bytes stored past the caches, which the levels do not have
    double footprint = 0;                 // of all its arrays, bytes
    double allocated = 0;                 // bytes of the heap's arrays that it is the first to store to
};

struct Traffic {
    std::vector<StageTraffic> stages;
    std::vector<LoopCount> loops;                  // in order; the parts of a fused loop once
    Movement memory;                               // by stage and array, the first call
    double footprint = 0;                          // of the whole run
    std::vector<double> touched;                   // of each array, bytes
    std::map<std::pair<int, int>, double> loaded;  // elements, by stage and array, with repetitions
};

Traffic traffic(const LoopTree &tree, const CacheSizes &caches);

/** Only what is executed: work, elements, loops and instructions that load and store. */
Traffic executions(const LoopTree &tree);

/** Bytes (whole lines) that a piece of the tree touches, registers left out; of one array where
 * `array` is not -1, of one iteration where `one_iteration`. */
double footprint(const LoopTree &tree, const Node &node, int array = -1, bool one_iteration = false);

}  // namespace halyard

#endif
