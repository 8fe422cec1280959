#ifndef HALYARD_LOWERING_CUDA_REGISTER_TILES_H
#define HALYARD_LOWERING_CUDA_REGISTER_TILES_H

/** \file
 * Arrays that a schedule keeps in registers for the whole block.
 *
 * Halide allocates a Func stored in `register` at block level once, as if all threads saw it. Here every thread gets
 * a share:
 *
 *   sum_part[thread_x] = 0; for step: sum_part[thread_x] += ...         a thread's own element: a scalar
 *   if (thread_x < 1) for t: sum[0] += sum_part[t]                      a loop over the threads' elements:
 *   if (thread_x < 1) scale[0] = f(sum[0])                              an element that does not belong to a thread:
 *     ->                                                                a copy in each
 *   sum_part = 0; for step: sum_part += ...
 *   sum += reduce_threads<add>(sum_part)
 *   scale = f(sum)
 *
 * Sums of products over elements of other threads of a warp are those of the tensor cores (warp_products.h).
 * Barriers that ordered only such arrays go (needed_barriers.h).
 */

#include <functional>
#include <map>
#include <string>

#include "lowering/cuda/extract/kernel.h"
#include "lowering/cuda/simt/linear.h"

namespace halyard {

/** Of a Func that is stored in registers: from which dimension of threads on each has its own; 3: it is the block's. Of those
 * that are not here, 0. */
using ThreadPlaces = std::map<std::string, int>;

/** Throws; takes the name of the Func and the message. */
using RegistersFail = std::function<void(const std::string &func, const std::string &message)>;

/** Rewrites the body, and adds what the reductions need of shared memory. `host_lets` are around the kernel. */
void keep_in_registers(Kernel &kernel, const ThreadPlaces &places, const Lets &host_lets, const RegistersFail &fail);

/** The call in the body: value, then the number of lanes as a constant, then the operation's name, then the index
 * of the scratch memory in bytes from the start of shared memory, -1 where a warp needs none, and its elements. */
extern const char *const kReduceThreads;

}  // namespace halyard

#endif
