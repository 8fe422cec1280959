#ifndef HALYARD_LOWERING_CUDA_BLOCK_TEXT_H
#define HALYARD_LOWERING_CUDA_BLOCK_TEXT_H

/** \file
 * A block program's kernel as text, in parts: what they have in common, and what the names in it are.
 */

#include <string>

#include "lowering/cuda/print/code_text.h"
#include "lowering/cuda/print/print.h"
#include "lowering/cuda/tensor_cores/fused_nests.h"
#include "lowering/cuda/tensor_cores/wgmma.h"
#include "lowering/cuda/tiles/block_launch.h"
#include "lowering/cuda/tiles/computed_tile.h"

namespace halyard {

/** Of a stream: arrays of barriers, a role's slot, the parity that it waits for, and the slot of the turn before. */
inline std::string full(const Stream &s) {
    return s.name + "_full";
}
inline std::string empty(const Stream &s) {
    return s.name + "_empty";
}
inline std::string stage(const Stream &s) {
    return s.name + "_stage";
}
inline std::string phase(const Stream &s) {
    return s.name + "_phase";
}
inline std::string before(const Stream &s) {
    return s.name + "_before";
}

/** The row of the tile that a thread has first of its sums. */
constexpr const char *kFirstRow = "first_row";
/** Of a loop whose steps are shared: the block's number in its cluster, and the number of the group of warps, in the block and in all. */
constexpr const char *kBlockOfTile = "block_of_tile", *kGroupOfTile = "group_of_tile", *kPartOfTile = "part_of_tile";

struct BlockText {
    const BlockProgram &program;
    const BlockLaunch &launch;
    KernelPrinter &out;
    FusedNests &threads;
    Fetching fetching = Fetching::kEngine;

    std::string e(const Halide::Expr &x) const {
        return out.expr(x);
    }
    /** Where the tile of the role's slot begins, in elements of the array. */
    std::string slot(const Stream &s, const StagedTile &t) const {
        return stage(s) + " * " + number(s.bytes() / t.operand->type.bytes());
    }
};

/** Loads them. */
void print_numbers(const BlockText &text, const std::vector<NumberOfTile> &numbers);

/** The loops of a block program, as warps of a role go over them. */
void print_loops(const BlockText &text, Role role);

/** Before a loop: where the lines lie which a thread copies of tiles that take them by an index. */
void print_lines(const BlockText &text, const StreamUse &use);

/** Asks for the tiles of a turn; of threads, each for its part. `lines_known`: by print_lines(). */
void print_fetches(const BlockText &text, const Stream &s, const StreamUse &use, bool lines_known);

/** An operand that is computed, of the role's slots. */
ComputedTile computed_tile(const BlockText &text, const Operand &o);

/** Has an operand computed: a tile in its slot, or the rows of a product in registers of that name. */
void print_computed(const BlockText &text, const Stream &s, const StagedTile &t);
void print_rows(const BlockText &text, const ComputedTile &tile, const std::string &registers);

/** Registers that have computed rows: those that are multiplied, and those of the next turn. */
std::string rows_of(const TileOfProduct &t);
std::string next_rows_of(const TileOfProduct &t);

/** Multiplies the tiles of a turn. `begins`: the sums begin with it. */
void print_product(const BlockText &text, const TileOfProduct &t, bool begins);
WgmmaInstruction instruction_of(const BlockProgram &program, const TileOfProduct &t);

/** Computes what a nest does of tiles in registers, and stores results. */
void print_nest(const BlockText &text, const FusedNest &n);

/** Of a loop whose steps are shared: sums begin as 0 but for the first part; and the first part gets those of the others. */
void print_parts_begin(const BlockText &text);
void print_parts_added(const BlockText &text);
/** The groups of warps wait for each other; and all blocks of a cluster, if there are others. */
void print_parts_barrier(const BlockText &text);
void print_cluster_barrier(const BlockText &text);

}  // namespace halyard

#endif
