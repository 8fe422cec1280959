#ifndef HALYARD_LOWERING_MMA_H
#define HALYARD_LOWERING_MMA_H

/** \file
 * Turns the loops of a matrix product into a call of the runtime's tile loop (runtime/mma.h).
 *
 *   for groups: for row: for col: for member:
 *     acc[row, col] += f32(a[row, groups, member]) * f32(b[groups, col, member])
 *     ->
 *   halyard_mma_bf16(acc, start, stride, a, start, stride, b, start, stride, rows, cols, groups)
 *
 * A start is an index into a buffer, a stride what it grows by from row to row, of b from group to group. Loops
 * around these four, as over the window of a convolution, stay around the call.
 */

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <Halide.h>

namespace halyard {

/** An update that is to be a product of tiles, and how to tell the user that it is none: `fail`
 * throws, with the line of the script in its message. */
struct TileProduct {
    Halide::Internal::Function func;
    int stage = 1;
    int stages = 4;  // of a pipeline on a GPU
    int group = 8;   // rows of tiles that a GPU's blocks take together
    int cluster = 1; // blocks of a GPU that share the steps of a tile
    bool turns = false;  // halves of a block multiply in turns (CUDA)
    std::function<void(const std::string &)> fail;
};

/** A pass for Pipeline::add_custom_lowering_pass. */
std::unique_ptr<Halide::Internal::IRMutator> multiply_in_tiles(std::vector<TileProduct> products);

}  // namespace halyard

#endif
