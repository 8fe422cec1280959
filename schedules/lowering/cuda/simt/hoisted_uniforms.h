#ifndef HALYARD_LOWERING_CUDA_HOISTED_UNIFORMS_H
#define HALYARD_LOWERING_CUDA_HOISTED_UNIFORMS_H

/** \file
 * Divisions by sizes of a call. Of sizes alone, they are done by the host, once for all threads; of coordinates, which are not
 * negative, a thread multiplies by what the host makes of the divisor (Granlund and Montgomery, Division by Invariant Integers
 * using Multiplication, 1994):
 *
 *   kernel(channels, groups): .. block / (channels / groups) ..
 *     ->
 *   kernel(multiplier, shift): .. divide_by(block, multiplier, shift) ..           -- 4 instructions for some 30
 */

#include <utility>

#include "lowering/cuda/extract/kernel.h"

namespace halyard {

/** A call of divide_by in device/numbers.h. */
constexpr const char *kDivideBy = "halyard_divide_by";

/** Makes arguments of divisions of sizes, and of conditions over them. With `positive`, also multiplies where divisors have to be
 * above 0, for which it is the condition, in the host's variables. */
void divide_by_sizes(Kernel &kernel, Halide::Expr *positive);

/** What divide_by takes for a number above 0, for the host to compute: {multiplier, shift}. */
std::pair<Halide::Expr, Halide::Expr> multiplier_and_shift(const Halide::Expr &by);

}  // namespace halyard

#endif
