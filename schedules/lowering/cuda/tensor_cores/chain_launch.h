#ifndef HALYARD_LOWERING_CUDA_CHAIN_LAUNCH_H
#define HALYARD_LOWERING_CUDA_CHAIN_LAUNCH_H

/** \file
 * What surrounds the body of a kernel with a chain of two products: its arguments, and how it uses shared memory.
 */

#include <optional>

#include "lowering/cuda/tensor_cores/chain_parts.h"
#include "lowering/cuda/tensor_cores/warpgroups.h"

namespace halyard {

/** Blocks of 64 elements that so many take. */
inline int panels(int elements) {
    return (elements + kAcross - 1) / kAcross;
}

/** From more tiles a block on they are counted: to clear the counter takes some us, before a kernel that may be as short. */
constexpr int kTilesToCount = 6;

class ChainLaunch {
public:
    /** `parts` may still change; `strides` are as of make_tile_kernel. */
    ChainLaunch(const Kernel &kernel, const ChainParts &parts, const Strides &strides)
        : base_(kernel),
          parts_(parts),
          strides_(strides) {
    }

    std::vector<const Operand *> operands() const;
    /** What leaves, in the order of the nests. */
    std::vector<const Assignment *> results() const;
    /** Where a tile of a result begins, where it is one of 16 bits and lies in the first two dimensions. */
    std::optional<std::vector<Halide::Expr>> place_of(const Assignment &a) const;
    /** The same, where it may leave by the copy engine. */
    std::optional<std::vector<Halide::Expr>> tensor_of(const Assignment &a) const;
    /** When the host may call the kernel that uses the copy engine. */
    Halide::Expr usable() const;
    /** The kernel without its body. */
    Kernel with_arguments(bool by_copy_engine) const;

    // Shared memory: the rows' tile, twice where there is room so that the next one comes meanwhile, stages of both other
    // operands, results on their way out, barriers.
    int elements_a() const;
    int elements_b() const;
    int elements_c() const;
    int stages(bool by_copy_engine) const;
    int stages_a(bool by_copy_engine) const;
    /** Whether blocks count the tiles that they take, where these are many, because some have more steps than others. Dealt out in turn, the last
     * blocks have ended late: attention with a causal mask, heads of 64, 192 queries, took 429 us for 334 (H200). */
    bool counts_tiles() const;
    int results_by_engine() const;
    int offset_b(bool by_copy_engine) const;
    int offset_c(bool by_copy_engine) const;
    int offset_results(bool by_copy_engine) const;
    int offset_barriers(bool by_copy_engine) const;
    int shared_bytes(bool by_copy_engine) const;

private:
    int bytes_behind_a(bool by_copy_engine) const;
    Halide::Expr of_host(const std::string &name) const;
    std::vector<Halide::Expr> used(bool by_copy_engine) const;

    const Kernel &base_;
    const ChainParts &parts_;
    const Strides &strides_;
};

}  // namespace halyard

#endif
