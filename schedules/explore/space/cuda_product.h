#ifndef HALYARD_EXPLORE_CUDA_PRODUCT_H
#define HALYARD_EXPLORE_CUDA_PRODUCT_H

/** \file
 * Products as a GPU computes them: which of the ways of schedules/lib there are for a sum of products, and what the
 * helpers have to know of its loops and operands.
 */

#include "explore/space/cuda_kernel.h"
#include "explore/space/graph.h"
#include "explore/space/product.h"

namespace halyard::explore {

/** A factor that goes by in shared memory. */
struct CudaOperand {
    std::string func;                 // as the product reads it
    std::string loop, k;              // its dimensions along the tile and along the sum
    bool k_together = false;          // k is the one that lies together in memory
    std::vector<std::string> others;  // of which a block has one
};

struct CudaProduct {
    std::string func;
    std::vector<CudaKernel::Form> forms;          // of kTensorTiles, kTensorWindows, kSharedTiles, kThreadTiles: the best first
    std::string col, row;                         // loops of a tile
    std::vector<std::string> others;              // dimensions that are neither
    std::vector<std::string> sums;                // loops of the sum, innermost first
    CudaOperand a, b;                             // of a shared tile: along rows, along columns
    int64_t group = 0;                            // neighbours along k that one instruction adds up, if not 0
    std::string rest;                             // the loop over what groups leave
    bool col_inside = false, row_inside = false;  // what is read stays inside, whatever column or row is asked for
    int64_t panel = 0;                            // columns of a panel that holds them, in which a tile lies whole; 0 where not
    bool float8 = false;                          // operands have 8 bits, and sums are floats
    bool windows = false;                         // elements of one operand are read for several sums
};

/** Of all that is not inlined, by Func. */
std::map<std::string, CudaProduct> cuda_products(const Description &description, const Graph &graph);

}  // namespace halyard::explore

#endif
