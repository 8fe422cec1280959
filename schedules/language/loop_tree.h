#ifndef HALYARD_LOOP_TREE_H
#define HALYARD_LOOP_TREE_H

/** \file
 * A lowered pipeline at one size as numbers: loops with extents, and in them what is loaded, stored
 * and computed. It knows nothing of Halide; traffic.h reads from it what moves where.
 */

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace halyard {

/** A Func's definition or one of its updates. */
struct StageName {
    std::string func;  // as Halide calls it
    int update = 0;    // 0 for the pure definition, i + 1 for update i

    bool operator==(const StageName &o) const {
        return func == o.func && update == o.update;
    }
};

/** Memory that loads and stores name. */
struct Array {
    std::string name;
    int element_bytes = 1;
    int64_t elements = 0;       // 0 where unknown
    bool argument = false;      // of the kernel; otherwise allocated in it
    bool on_stack = false;      // of constant size
    bool in_registers = false;  // small, and no index in it varies: the compiler keeps it in registers
    bool in_kernel = false;     // allocated in blocks of a GPU: shared memory or registers
};

/** A load or a store: the addresses are base + sum of stride * (number of the loop's iteration). */
struct Access {
    struct Step {
        int loop = 0;        // number of a Loop node; -1 for lanes
        int64_t stride = 0;  // bytes
        int64_t count = 1;   // distinct values over the whole loop
    };
    int array = 0, stage = 0;
    bool store = false;
    bool streamed = false;  // stored past the caches
    int64_t base = 0;
    int64_t bytes = 0;                            // that one execution moves, lanes that are masked off included
    double part = 1;                              // of them what is not masked off
    std::vector<Step> steps;                      // loops outside in, then the lanes
    std::vector<std::pair<int, double>> anchors;  // of every loop around: the iteration that stands for all
    bool exact = true;                            // false: the steps are a bound
    bool known = true;                            // false: the index comes out of memory
};

/** Arithmetic of one execution of a statement. */
struct Work {
    double flops = 0;         // f32 additions, multiplications, divisions, roots, minima and maxima; 2 for each product of integers
    double scalar_flops = 0;  // of them those that are not in SIMD lanes
    double instructions = 0;  // of the arithmetic, with the target's vectors and multiply-adds
    int calls = 0;            // of functions that the analysis cannot look into
};

struct Node {
    enum Kind { kBlock, kLoop, kStatement } kind = kBlock;
    double times = 1;  // executions for each one of the parent; below 1 under a condition
    // a loop
    std::string name;    // as Halide calls it; a fused loop stands here once for each loop that it was
    int loop = -1;       // loops are numbered in order
    int occurrence = 0;  // which one of its name it is in the program, loops that never run included
    double extent = 1;
    bool parallel = false, digit = false;  // digit: an outer part of a fused loop
    bool block = false;                    // of a GPU
    // a statement
    int stage = 0;
    Work work;
    // both: what is inside
    size_t first_access = 0, last_access = 0;  // of LoopTree::accesses, the last one excluded
    int first_loop = 0, last_loop = 0;         // numbers of the loops inside, itself included
    std::vector<Node> children;
};

struct LoopTree {
    Node root;
    std::vector<Array> arrays;
    std::vector<StageName> stages;  // in the order in which they begin
    std::vector<Access> accesses;
    std::vector<std::string> notes;  // where a figure is a bound, and why
};

}  // namespace halyard

#endif
