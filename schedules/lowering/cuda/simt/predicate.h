#ifndef HALYARD_LOWERING_CUDA_PREDICATE_H
#define HALYARD_LOWERING_CUDA_PREDICATE_H

/** \file
 * Conditions around a load and what is done with it become conditions of the load and of the store:
 *
 *   if (c) sum += x[i]                 sum = c ? sum + (x[i] if c) : sum
 *   if (c) y[i] = f(x[i])       ->     v = f(x[i] if c); if (c) y[i] = v
 *
 * In unrolled loops the loads of all iterations can then be under way at once, which the branches between them prevented. By
 * itself that gains little, as many blocks hide the latency too; register_reuse.h needs it.
 */

#include <set>

#include <Halide.h>

namespace halyard {

Halide::Internal::Stmt predicate_loads(const Halide::Internal::Stmt &body);

/** A loop that is cut with "predicate_stores" reads in turns beyond its end, and drops what comes of it. In a block that is memory
 * which no thread has written: what is stored under a condition is computed under it, too.
 *
 *   y[i] = f(x[i]) if c                    ->     if (c) y[i] = f(x[i])
 *   v = x[j]; for i: y[i] = f(v) if c      ->     if (c) v = x[j]; for i: y[i] = f(v)
 *
 * So is what a vector is stored of whose lanes have conditions of their own, as it may read something for all of them:
 *
 *   y[ramp] = f(x[ramp] if c, v[j]) if c   ->     if (any of c) y[ramp] = f(x[ramp] if c, v[j]) if c
 */
Halide::Internal::Stmt branch_at_stores(const Halide::Internal::Stmt &body);

}  // namespace halyard

#endif
