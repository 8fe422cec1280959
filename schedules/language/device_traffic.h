#ifndef HALYARD_DEVICE_TRAFFIC_H
#define HALYARD_DEVICE_TRAFFIC_H

/** \file
 * What the kernels of a loop tree for a GPU read from and write to the device's memory. What a block allocates is on the
 * chip; all else it finds in device memory, and loads once.
 */

#include "language/traffic.h"

namespace halyard {

struct ArrayTraffic {
    int array = 0;
    Moved once;    // what the kernel touches, each line once: all that the device's memory has to move
    Moved blocks;  // the sum over blocks, each of which loads a line once: what leaves the L2
};

struct StageWork {
    int stage = 0;
    double flops = 0, elements = 0;  // over all blocks
    int operand_bytes = 0;           // the widest element that it loads of other arrays
};

/** A nest of block loops. */
struct KernelTraffic {
    std::string loop;   // the outermost of its loops, as Halide calls it: FUNC.sN.VAR
    double times = 1;   // that it is launched
    double blocks = 1;  // of a launch
    std::vector<ArrayTraffic> arrays;
    std::vector<StageWork> stages;
};

/** In the order in which they are launched. */
std::vector<KernelTraffic> kernels_of(const LoopTree &tree);

}  // namespace halyard

#endif
