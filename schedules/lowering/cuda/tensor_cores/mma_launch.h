#ifndef HALYARD_LOWERING_CUDA_MMA_LAUNCH_H
#define HALYARD_LOWERING_CUDA_MMA_LAUNCH_H

/** \file
 * What surrounds the body of a kernel for mma: when the host may call it, and its arguments.
 */

#include <vector>

#include "lowering/cuda/tensor_cores/mma_layout.h"
#include "lowering/cuda/tensor_cores/tile_text.h"

namespace halyard {

class MmaLaunch : public TileText {
protected:
    /** A nest that uses the sums. */
    struct Result {
        Pair pair;      // with the alignment of what it loads
        int lanes = 2;  // that are stored at once
        Halide::Internal::ModulusRemainder alignment;

        Halide::Expr index() const;
    };

    MmaLaunch(const TileProgram &program, const PrintOptions &print);

    int sums() const override {
        return layout_.sums();
    }
    /** The kernel without its body. */
    Kernel with_arguments();
    /** Of shared memory, where warps give each other their parts of a reduction. */
    int bytes_of_reduction() const;

    const MmaLayout layout_;
    std::vector<Result> after_;
    Halide::Expr usable_;  // when the host may call the kernel that copies 16 bytes at once

private:
    void align();
    void ask(Halide::Internal::Stmt &s, int multiple_of_col);
    Halide::Expr aligned(const Operand &o) const;
};

}  // namespace halyard

#endif
