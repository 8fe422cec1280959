#ifndef HALYARD_LOWERING_CUDA_COLLAPSED_DIMENSIONS_H
#define HALYARD_LOWERING_CUDA_COLLAPSED_DIMENSIONS_H

/** \file
 * Loops that a schedule fused, in memory that is dense.
 *
 * A fused loop takes its index apart, and memory puts it together again with strides that are known when the kernel is
 * called:
 *
 *   x[v % w * 8 + v / w * stride]  ->  x[v * 8]         where stride == 8 * w
 *
 * Without the divisions, indices are short and the same in all stages, so that loads can be kept (register_reuse.h). Where all
 * vectors of a row are whole, nobody has to ask for each:
 *
 *   if (v % w * 8 + 8 <= extent)   ->  if (true)        where (w - 1) * 8 + 8 <= extent
 *
 * The host asks whether strides and extents are such, and has a kernel for either case. With the vectors of each row apart, a
 * BatchNorm over planes is several times as slow.
 */

#include "lowering/cuda/extract/kernel.h"

namespace halyard {

/** Joins what it can in the body. Returns the condition, in the host's variables; not defined where there was nothing to
 * join. */
Halide::Expr collapse_dimensions(Kernel &kernel);

}  // namespace halyard

#endif
