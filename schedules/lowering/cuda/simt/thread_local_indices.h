#ifndef HALYARD_LOWERING_CUDA_THREAD_LOCAL_INDICES_H
#define HALYARD_LOWERING_CUDA_THREAD_LOCAL_INDICES_H

/** \file
 * Indices of a thread's own share of an array in registers, and allocations of its size:
 *
 *   part[thread_x + 128 * i]   -- of 512 elements, by 128 threads
 *     ->
 *   part[i]                    -- of 4
 */

#include <array>
#include <map>
#include <string>

#include "lowering/cuda/simt/register_tiles.h"

namespace halyard {

/** What is known of an array that a schedule put into registers. */
struct Registers {
    Halide::Type type;
    int64_t elements = 0;
    std::array<int64_t, 3> stride = {};  // from a thread's element to the next thread's; 0: each has a copy
    bool stored = false;
};

using RegisterArrays = std::map<std::string, Registers>;

/** The body. `identities`: what arrays begin with of which not every thread has an element, but all take part in a reduction. */
Halide::Internal::Stmt with_thread_local_indices(const Kernel &kernel, const RegisterArrays &arrays,
                                                 const std::map<std::string, Halide::Expr> &identities, const RegistersFail &fail);

}  // namespace halyard

#endif
