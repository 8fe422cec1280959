#ifndef HALYARD_LOWERING_CUDA_NO_THREADS_H
#define HALYARD_LOWERING_CUDA_NO_THREADS_H

/** \file
 * Blocks of several nests, some of which may have no threads in a call. Halide 21 has as many threads as the largest nest, and at least
 * one for a nest without loops over threads, but forgets of this one where the others' number is not known.
 */

#include "lowering/cuda/extract/kernel.h"

namespace halyard {

/** Launches one thread at least where a nest of the kernel is for one thread, and keeps that thread out of the other nests where these
 * have none. Returns the numbers of threads that its body compares with, of what the host knows. */
std::vector<Halide::Expr> keep_one_thread(Kernel &kernel);

}  // namespace halyard

#endif
