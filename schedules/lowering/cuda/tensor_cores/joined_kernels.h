#ifndef HALYARD_LOWERING_CUDA_JOINED_KERNELS_H
#define HALYARD_LOWERING_CUDA_JOINED_KERNELS_H

/** \file
 * Several tile programs that need nothing of each other, such as the products of q, k and v, as one kernel:
 *
 *   launch: blocks tile of q          launch: for tile of all, blocks in turns:
 *   launch: blocks tile of k    ->      tile < tiles of q: q's | tile < those of q and k: k's | v's
 *   launch: blocks tile of v
 *
 * Where each has too few tiles for a device, that is the time of one. Kernels that are launched beside each other (dependent_launch.h) take
 * longer: each waits in the end until the one before has ended, which is known to it microseconds later.
 */

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lowering/cuda/extract/kernel.h"
#include "lowering/cuda/print/print.h"
#include "lowering/cuda/tensor_cores/tile_program.h"

namespace halyard {

struct JoinedKernel {
    Kernel kernel;
    std::string text;
    std::map<std::string, std::string> instructions;  // functions that it calls, by name
    Halide::Expr usable;                              // when it may be called, for the host
};

/** Nothing where tiles are not alike enough to go through the same shared memory. Those of wgmma are fetched and stored by the copy engine;
 * skinny ones fetched by it with `hopper`. */
std::optional<JoinedKernel> join_wgmma_kernels(const std::vector<TileProgram> &programs, const PrintOptions &print,
                                               const std::string &name);
std::optional<JoinedKernel> join_skinny_kernels(const std::vector<TileProgram> &programs, const PrintOptions &print,
                                                const std::string &name, bool hopper);

/** Adds the arguments of a kernel that are not there yet, and takes its threads, its bytes of shared memory if more, and its blocks of a
 * multiprocessor if the first. False where threads, or an argument of the same name, differ. */
bool add_arguments(Kernel &into, const Kernel &more);

}  // namespace halyard

#endif
