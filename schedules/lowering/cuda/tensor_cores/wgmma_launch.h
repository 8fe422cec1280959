#ifndef HALYARD_LOWERING_CUDA_WGMMA_LAUNCH_H
#define HALYARD_LOWERING_CUDA_WGMMA_LAUNCH_H

/** \file
 * What surrounds the body of a kernel for wgmma: what it wants of tiles, when the host may call it, its arguments, and which of
 * what the epilogue reads is loaded early.
 */

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lowering/cuda/tensor_cores/epilogue_loads.h"
#include "lowering/cuda/tensor_cores/wgmma_layout.h"

namespace halyard {

class WgmmaLaunch : public EpilogueLoads {
protected:
    WgmmaLaunch(const TileProgram &program, const PrintOptions &print);

    int sums() const override {
        return layout_.sums();
    }
    /** Whether a result may leave by TMA: a type that it has, a box of a tensor, one store for each sum. Threads take long to store
     * a large tile, and nothing is multiplied meanwhile. */
    bool leaves_by_tma(const Pair &p) const;
    std::optional<TensorBox> box_of(const Pair &p) const;

    /** When the host may call kernels that fetch, and that store, by TMA. */
    Halide::Expr operands_are_tensors() const;
    Halide::Expr results_are_tensors() const;
    /** The kernel without its body. */
    Kernel with_arguments(WgmmaForm form);
    /** How many take so many tiles: as many as a device runs at once. */
    Halide::Expr blocks_that_stay(const Halide::Expr &tiles) const;

    WgmmaLayout layout_;
    std::vector<Pair> after_;                                    // with the alignment of what they load
    std::vector<Halide::Internal::ModulusRemainder> alignment_;  // of what they store
    std::set<std::string> not_in_memory_;                        // the sums, and what was loaded early

private:
    std::vector<int> leaving() const;
    void align_pairs();
    bool leaves(const Pair &p, WgmmaForm form) const;
    bool moved_by_tma(const std::string &buffer, WgmmaForm form) const;
    std::vector<Halide::Expr> used_by(WgmmaForm form) const;
    void find_early();
    void place_tile(EpilogueTile t);

    Halide::Expr pairs_aligned_;
};

}  // namespace halyard

#endif
