#ifndef HALYARD_LOWERING_MMA_H
#define HALYARD_LOWERING_MMA_H

/** \file
 * Turns the loops of a matrix product into a call of the runtime's tile loop (runtime/mma.h).
 *
 *   for groups: for row: for col: for member:
 *     acc[row, col] += f32(a[row, groups, member]) * f32(b[groups, col, member])
 *     ->
 *   halyard_mma_bf16(acc, start, stride, a, start, stride, b, start, stride, rows, cols, groups, fresh, ...)
 *
 * A start is an index into a buffer, a stride what it grows by from row to row, of b from group to group. Loops
 * around these four stay around the call, but for two of the sum, as over the window of a convolution. There are no members where operands are float32,
 * which the runtime takes apart (runtime/mma_f32.h). It keeps the parts for the calls between begin and end, of an operand
 * that stays: nothing in there writes to it. Where b moves with a loop of the task, its next part is made meanwhile.
 *
 *   halyard_mma_f32(acc, ..., a stays, b stays, start of b in the next turn, calls until then)
 *
 * Where sums begin at 0 and there is one call for them, they are `fresh`, and the loops that would make them 0 leave. What
 * the loop over the rows of a block goes on to write and to read is prefetched by the call: up to one buffer each, in bytes; what it
 * writes where that is large and few operations come before. Tiles are configured once for the body of the parallel loop around:
 *
 *   parallel task: { halyard_mma_begin(); ...; halyard_mma_end() }
 *
 * Where a task has one product, all of whose sums are made at once and whose consumer does enough with them, the next is begun in
 * the loops of that consumer (runtime/mma_ahead.h). It is what the loops around come to next, by their bounds:
 *
 *   parallel task: { halyard_mma_bf16_open(memory, strides, groups, taps)
 *     for block: { halyard_mma_bf16_take(memory, acc, a, b of this block)
 *       halyard_mma_bf16_begin(memory, whether there is a next, a, b of it, ...)
 *       for row: { halyard_mma_bf16_step(memory, turn); ... } } }
 */

#include <cstdint>
#include <functional>
#include <map>
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
    int stages = 4;          // of a pipeline on a GPU
    int raster = 8;          // rows of tiles that a GPU's blocks take together
    int cluster = 1;         // blocks of a GPU that share the steps of a tile
    int warps = 1;           // of a block, that share the steps of a tile of few rows
    bool ping_pong = false;  // one half of a block multiplies while the other computes (CUDA)
    std::function<void(const std::string &)> fail;
};

/** A pass for Pipeline::add_custom_lowering_pass. `outputs` have so many dimensions by their names; one of no more than `cached`
 * bytes is taken to lie in the cache, and not prefetched. */
std::unique_ptr<Halide::Internal::IRMutator> multiply_in_tiles(std::vector<TileProduct> products, std::map<std::string, int> outputs,
                                                               int64_t cached);

}  // namespace halyard

#endif
