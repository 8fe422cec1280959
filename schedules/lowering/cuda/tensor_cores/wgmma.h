#ifndef HALYARD_LOWERING_CUDA_WGMMA_H
#define HALYARD_LOWERING_CUDA_WGMMA_H

/** \file
 * The functions that kernels call for wgmma instructions (PTX ISA 8.0).
 */

#include <string>

#include "lowering/cuda/tensor_cores/tensor_number.h"

namespace halyard {

/** d += a b, or d = a b: 64 rows, `columns`, 32 bytes deep; sums in f32, of 8-bit integers in int32. b and, but for
 * `a_in_registers`, a are matrices in shared memory. */
struct WgmmaInstruction {
    TensorNumber a, b;            // both the same, but for integers, and numbers, of 8 bits
    int columns = 0;              // a multiple of 8, of 16 for integers, up to 256
    bool b_across = false;        // columns of b are neighbours in memory, not its depth; only for 16 bits
    bool a_in_registers = false;  // in the order in which a thread has sums

    std::string name() const;
    /** The function's text: `name(d, a, b, accumulate)`. */
    std::string text() const;
};

}  // namespace halyard

#endif
