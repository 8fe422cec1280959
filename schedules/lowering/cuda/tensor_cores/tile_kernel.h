#ifndef HALYARD_LOWERING_CUDA_TILE_KERNEL_H
#define HALYARD_LOWERING_CUDA_TILE_KERNEL_H

/** \file
 * A tile program as kernels. The sums stay in registers, and f is applied to them there; what depends on the device is how
 * tiles of a and b come to the tensor cores.
 *
 * Where pointers and strides are not what the copies of 16 bytes take, the host calls another kernel, in which the threads
 * store, or fetch and store, element by element; the rest is the same.
 */

#include <map>
#include <string>

#include "lowering/cuda/extract/kernel.h"
#include "lowering/cuda/print/print.h"
#include "lowering/cuda/tensor_cores/tile_program.h"

namespace halyard {

struct TileKernel {
    Kernel whole, fetching, by_elements;
    std::string text, text_by_elements;               // of the first two, and of the last
    std::map<std::string, std::string> instructions;  // functions that they call, by name
    Halide::Expr usable;                              // when the first may be called, for the host; undefined: there is none
    Halide::Expr fetches;                             // and when the second; undefined: there is none
};

/** Whether a kernel runs together with the one before of its call, as none needs what the other makes. */
struct DependentLaunch {
    bool beside_last = false;
};

/** For sm_90a: a producer warp has TMA fetch the tiles, `stages` steps ahead; warpgroups of 64 rows each multiply
 * them by wgmma, and the result leaves by TMA. Blocks stay and take tile after tile. Without `whole`, as a joined kernel has it, the
 * first form is left out where there is a second. */
TileKernel make_wgmma_kernel(const TileProgram &program, const PrintOptions &print, const DependentLaunch &together, bool whole = true);

/** For sm_80 and all later ones: the threads fetch tiles by cp.async, and warps multiply parts of them by mma.sync. */
TileKernel make_mma_kernel(const TileProgram &program, const PrintOptions &print);

/** For tiles of up to 32 rows, where all that takes time is to read the other matrix: no rows are filled up to the 64 of wgmma,
 * a block has few columns, so that each multiprocessor reads its part, and its warps share the depth of a step, of which each
 * multiplies a slice by mma.sync. In the end their sums are added up, in the order of the warps. Tiles are fetched by the copy
 * engine with `hopper`, else by cp.async. */
TileKernel make_skinny_kernel(const TileProgram &program, const PrintOptions &print, bool hopper, const DependentLaunch &together);
bool is_skinny(const TileProgram &program);

}  // namespace halyard

#endif
