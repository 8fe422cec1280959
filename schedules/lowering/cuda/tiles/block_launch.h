#ifndef HALYARD_LOWERING_CUDA_BLOCK_LAUNCH_H
#define HALYARD_LOWERING_CUDA_BLOCK_LAUNCH_H

/** \file
 * What surrounds the body of a block program's kernel: its warps, its shared memory, its arguments, and when the host may call it.
 */

#include <optional>
#include <vector>

#include "lowering/cuda/tiles/block_kernel.h"
#include "lowering/cuda/tiles/streams.h"

namespace halyard {

/** What a thread stores at once of a result that leaves by rows: 16 bytes. */
constexpr int kPieceOfResult = 8;

/** Where a tile begins in its tensor. */
struct ResultBox {
    enum How {
        kBox,     // by TMA
        kAcross,  // by TMA, as neighbours in memory are rows of the tile, and not its columns
        kRows     // by threads, 16 bytes each: its rows lie anywhere, or some are not stored
    };
    How how = kBox;
    std::vector<Halide::Expr> origin;  // of a box
    int rank = 0;
    bool by_engine() const {
        return how != kRows;
    }
};

/** That a thread has: at first, where it multiplies, and where it does not. */
struct RegistersOfRoles {
    int at_begin = 0, products = 0, others = 0;
};

class BlockLaunch {
public:
    BlockLaunch(const BlockProgram &program, const Kernel &base, const Strides &strides, bool hopper);

    /** Whether warpgroups multiply by wgmma, of 64 rows each; else warps by mma.sync, of 16 or 32. */
    bool by_wgmma() const {
        return hopper_ && program_.rows % 64 == 0;
    }
    /** Of a warp that multiplies: parts of 16 rows. */
    int fragments() const {
        return fragments_;
    }
    /** The loops over the steps of a tile that blocks of a cluster and groups of warps share, one after the other in the body of the
     * program, or none. Each has a part of every sum; the first group of the first block adds those of the others, and does all
     * else. */
    struct Range {
        size_t first = 0, end = 0;
    };
    Range shared_loops() const {
        return shared_loops_;
    }
    bool is_shared(const TileNode &n) const;
    int blocks_of_tile() const {
        return blocks_of_tile_;
    }
    int groups_of_tile() const {
        return groups_of_tile_;
    }
    /** Of the products in them. */
    std::vector<std::string> shared_sums() const;
    /** Of a group: what a thread has of a sum. */
    int warps_of_tile() const;
    int sums_of_thread(const std::string &name) const;
    int warps(Role r) const;
    /** Those that compute are in so many groups, which take turns: each has a slot of its own to fill while the others fill theirs. */
    int groups_of_compute() const;
    int warps_of_compute() const {
        return warps(Role::kCompute) / groups_of_compute();
    }
    int first_warp(Role r) const;
    int threads() const;
    /** That a multiprocessor is to hold at once, which share its registers and, of sm_90a, its shared memory. */
    int blocks_of_multiprocessor() const;
    RegistersOfRoles registers(Fetching fetching) const;
    bool computes() const;

    /** Whether all threads of those that fetch have a part of a ring's tiles; whether they have of any. Else one asks the copy engine. */
    static bool threads_fetch(const Stream &s, Fetching fetching);
    bool threads_fetch(Fetching fetching) const;

    /** Whether nothing but wgmma reads its tiles: then one thread of a warpgroup knows when all of it is done. */
    bool is_read_by_wgmma(const Stream &s) const;

    const Streams &streams() const {
        return streams_;
    }
    int offset_barriers() const;
    int offset_results() const;
    /** The sums of the groups but the first, and behind them those that a block gives to the first of its cluster. */
    int offset_parts() const;
    int parts() const {
        return groups_of_tile_ - 1 + (blocks_of_tile_ > 1 ? 1 : 0);
    }
    int bytes_of_part() const;
    /** Of a result that leaves through shared memory. */
    std::optional<ResultBox> box_of(const FusedNest &nest, const Assignment &a) const;

    std::vector<const Operand *> fetched() const;
    Halide::Expr usable() const;
    Kernel with_arguments(Fetching fetching) const;
    Halide::Expr tiles() const;

private:
    struct Result {
        const FusedNest *nest;
        const Assignment *assignment;
    };
    std::optional<ResultBox> rows_of(const Assignment &a) const;
    static Halide::Expr tensor_of(const StagedTile &t);
    std::vector<Result> results() const;
    std::vector<Halide::Expr> used(Fetching fetching) const;
    int bytes_of_results() const;
    int room() const;
    int sums() const;
    static Range find_shared_loops(const BlockProgram &program);
    void check() const;
    void check_shared() const;

    const BlockProgram &program_;
    const Kernel &base_;
    const Strides &strides_;
    const bool hopper_;
    int fragments_ = 1;
    const Range shared_loops_;
    const int groups_of_tile_, blocks_of_tile_;
    Streams streams_;
    bool results_leave_ = false;  // through shared memory: there is room for them
};

}  // namespace halyard

#endif
