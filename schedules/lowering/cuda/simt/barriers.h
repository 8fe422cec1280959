#ifndef HALYARD_LOWERING_CUDA_BARRIERS_H
#define HALYARD_LOWERING_CUDA_BARRIERS_H

/** \file
 * Barriers stand where all threads of a block come by, and equally often: elsewhere a device waits for ever, or mixes up two
 * barriers.
 *
 * Halide cuts a loop into parts where a condition in it holds for all of a part. Where the condition is about the thread, the
 * parts begin elsewhere in each thread, and what waits in the loop waits in another part than the others do:
 *
 *   for tile < n: if (tile * 64 + thread_x * 8 < d) ..; barrier
 *     ->
 *   for tile < (d - thread_x * 8) / 64: ..; barrier
 *   for tile from there to n: barrier
 *
 * So such loops are never cut (keep_waiting_loops_whole), and what a kernel is made of in the end is checked (check_barriers).
 */

#include <functional>
#include <string>
#include <vector>

#include "lowering/cuda/extract/kernel.h"

namespace halyard {

/** For the Funcs of a pipeline whose schedule is whole: loops around the threads of a block, or around what else is computed
 * inside of a kernel, are cut only where the schedule says so. */
void keep_waiting_loops_whole(const std::vector<Halide::Internal::Function> &funcs);

/** Calls `fail` with the name of a Func and a message where threads wait for each other in a loop whose bounds, or under a
 * condition which may differ by thread. It throws. */
void check_barriers(const Kernel &kernel, const std::function<void(const std::string &func, const std::string &message)> &fail);

}  // namespace halyard

#endif
