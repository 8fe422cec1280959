#ifndef HALYARD_LOWERING_CUDA_TILE_KERNEL_H
#define HALYARD_LOWERING_CUDA_TILE_KERNEL_H

/** \file
 * Kernels whose schedule names no threads, but has a product done by the tensor cores (the word mma):
 *
 *   blocks tile:
 *     acc = 0
 *     for step: for row: for col: for d: acc[row][col] += f32(a[..]) * f32(b[..])
 *     for row: for col: y[..] = f(acc[row][col], ...)
 *
 * They become kernels for sm_90a: a producer warp has the copy engine fetch the tiles of a and b, `stages` steps ahead;
 * warpgroups of 64 rows each multiply them by wgmma, with the sums in registers; f is applied to the sums where they are,
 * and the result leaves by the copy engine. Blocks stay and take tile after tile.
 *
 * Several products of one a, such as the gate and up of SwiGLU, share its tiles and the loop over steps.
 *
 * Where pointers and strides are not what the copy engine takes, the host calls a second kernel, in which the threads
 * fetch and store element by element; the rest is the same.
 */

#include <map>
#include <string>
#include <vector>

#include "kernel.h"
#include "linear.h"
#include "print.h"
#include "tile_parts.h"

namespace halyard {

struct TileKernel {
    Kernel by_copy_engine, by_elements;
    std::string text;     // of both
    std::map<std::string, std::string> instructions;  // functions that they call, by name
    Halide::Expr usable;  // when the first may be called, for the host
};

/** Of buffers that the pipeline allocates, by their names. */
using Strides = std::map<std::string, std::vector<Halide::Expr>>;

/** `host` has the lets around the kernel, but those of fields of buffers. */
TileKernel make_tile_kernel(const Kernel &kernel, const std::vector<TensorCores> &products, const Lets &host,
                            const Strides &strides, const PrintOptions &print);

}  // namespace halyard

#endif
