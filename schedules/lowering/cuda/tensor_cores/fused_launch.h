#ifndef HALYARD_LOWERING_CUDA_FUSED_LAUNCH_H
#define HALYARD_LOWERING_CUDA_FUSED_LAUNCH_H

/** \file
 * What surrounds the body of a kernel with two fused products: its arguments, and how it uses shared memory.
 */

#include <optional>

#include "lowering/cuda/tensor_cores/fused_parts.h"
#include "lowering/cuda/tensor_cores/warpgroups.h"

namespace halyard {

/** From more tiles a block on they are counted: to clear the counter takes some us, before a kernel that may be as short. */
constexpr int kTilesToCount = 6;
/** An argument of kernels whose blocks count tiles: of how many in the other dimensions the last ones along the first dimension, which have
 * the most steps, come before all others. All, where what their steps read stays in L2 together; else as many as the schedule says. */
extern const char *const kTilesTogether;

/** Where a tile of a result begins, where it is one of 16 bits and lies in the first two dimensions. */
std::optional<std::vector<Halide::Expr>> place_of_result(const Assignment &a, const Kernel &kernel,
                                                         const std::array<std::string, 3> &block_names, const Lets &host,
                                                         const Strides &strides);

class FusedLaunch {
public:
    /** `parts` may still change; `strides` are as of make_tile_kernel. */
    FusedLaunch(const Kernel &kernel, const FusedParts &parts, const Strides &strides) : base_(kernel), parts_(parts), strides_(strides) {}

    std::vector<const Operand *> operands() const;
    /** What leaves, in the order of the nests. */
    std::vector<const Assignment *> results() const;
    /** place_of_result() of one of its own. */
    std::optional<std::vector<Halide::Expr>> place_of(const Assignment &a) const;
    /** The same, where it may leave by TMA. */
    std::optional<std::vector<Halide::Expr>> tensor_of(const Assignment &a) const;
    /** When the host may call the kernel that uses TMA. */
    Halide::Expr usable() const;
    /** The kernel without its body. */
    Kernel with_arguments(bool by_tma) const;

    // Shared memory: the rows' tile, twice where there is room so that the next one comes meanwhile, stages of both other
    // operands, results on their way out, barriers.
    int elements_a() const;
    int elements_b() const;
    int elements_c() const;
    int stages(bool by_tma) const;
    int stages_a(bool by_tma) const;
    /** Whether blocks count the tiles that they take: where there are many, of which some have more steps than others, as under a
     * causal mask. Dealt out in turn, the last blocks would end late. */
    bool counts_tiles() const;
    int results_by_engine() const;
    int offset_b(bool by_tma) const;
    int offset_c(bool by_tma) const;
    int offset_results(bool by_tma) const;
    int offset_barriers(bool by_tma) const;
    int shared_bytes(bool by_tma) const;

private:
    int bytes_behind_a(bool by_tma) const;
    std::vector<Halide::Expr> used(bool by_tma) const;
    Halide::Expr tiles_together() const;

    const Kernel &base_;
    const FusedParts &parts_;
    const Strides &strides_;
};

}  // namespace halyard

#endif
