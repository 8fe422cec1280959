#ifndef HALYARD_LOWERING_CUDA_REGISTER_REUSE_H
#define HALYARD_LOWERING_CUDA_REGISTER_REUSE_H

/** \file
 * What a thread loads in one stage and again in a later one stays in its registers:
 *
 *   for chunk: sum += x[chunk, thread]               held = x[0, thread]
 *   for chunk: y[..] = x[chunk, thread] * f(sum)     sum += held;        for chunk from 1: sum += x[chunk, thread]
 *                                              ->    y[..] = held * ...; for chunk from 1: y[..] = x[chunk, thread] * ...
 *
 * A row that fits the registers of a block is so read once, with all its loads under way together; of a longer one the
 * rest is read again, from the caches if they still have it. To read a row again is slower even where it fits L1.
 */

#include "lowering/cuda/extract/kernel.h"

namespace halyard {

/** Rewrites a body that predicate_loads() has been over. */
void reuse_in_registers(Kernel &kernel);

}  // namespace halyard

#endif
