#ifndef HALYARD_EXPLORE_CUDA_KERNEL_H
#define HALYARD_EXPLORE_CUDA_KERNEL_H

/** \file
 * A schedule for CUDA as a list of kernels: what each stores, what its blocks or threads compute for that, and in what
 * numbers. cuda_space.h makes it of decisions, cuda_text.h makes statements of it, cuda_cost.h predicts its time.
 */

#include <map>
#include <string>
#include <vector>

namespace halyard::explore {

struct CudaKernel {
    enum Form {
        kVectors,     // element by element, vectors of neighbours
        kElements,    // element by element
        kRows,        // a block a row, its threads share the columns
        kReduced,     // a reduction by itself, a block for each of its elements
        kThreads,     // a thread for each row
        kInPlace,     // every definition a pass of its own over memory
        kTransposed,  // tiles through shared memory
        kTensorTiles,
        kTensorWindows,  // products on the tensor cores
        kSharedTiles,    // products in registers, whose operands go by in shared memory
        kPanels,         // the same, of which a block keeps only what a panel of columns is reduced to
        kThreadTiles,    // products in registers, each thread for itself
    };
    Form form = kElements;
    std::string func;                 // what it stores
    bool copy = false;                // it stores a copy of func, func:in_(), and computes func itself for that
    std::vector<std::string> inside;  // what else it computes, readers before what they read
    std::vector<std::string> loops;   // of func: those of blocks (kRows) or of threads (kThreads)
    std::vector<std::string> products;
    std::vector<std::string> held;  // kRows: inputs that are kept in shared memory
    bool stream = false;
    std::map<std::string, int64_t> numbers;  // "threads", "unroll", as options of helpers are called

    int64_t number(const std::string &name) const {
        const auto n = numbers.find(name);
        return n == numbers.end() ? 0 : n->second;
    }
};

}  // namespace halyard::explore

#endif
