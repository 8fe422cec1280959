#ifndef HALYARD_LOWERING_CUDA_GATHERED_LAUNCHES_H
#define HALYARD_LOWERING_CUDA_GATHERED_LAUNCHES_H

/** \file
 * Puts kernels that may run together next to each other, so that one launch can have the blocks of all:
 *
 *   let m = ..: kernel q          let m = ..:
 *   copy w_k to the device   ->     copy w_k to the device
 *   let n = ..: kernel k            let n = ..: (kernel q; kernel k)
 */

#include <functional>

#include <Halide.h>

namespace halyard {

/** Of kernels that find_dependent_launches() knows to be launched beside the one before, those that are `wanted` come to the place of the last. A
 * kernel stays where it is if what the host computes for it may not be computed there. */
Halide::Internal::Stmt gather_launches(const Halide::Internal::Stmt &s, const std::function<bool(const Halide::Internal::For *)> &wanted);

}  // namespace halyard

#endif
