#ifndef HALYARD_VECTOR_MATH_H
#define HALYARD_VECTOR_MATH_H

/** \file
 * Functions of f32 as vector code, in place of a call of libm for each lane.
 *
 *   y[ramp(i, 1, 16)] = tanh_f32(x[ramp(i, 1, 16)])
 *     ->
 *   y[ramp(i, 1, 16)] = (polynomials of generators/math, without a call or a branch)
 *
 * | function | error, in units of the last place | others |
 * | --- | --- | --- |
 * | tanh | 1.4 | |
 * | sin, cos | 1.6 up to 131072 | a vector with a larger one, an infinity or a NaN: libm |
 * | exp, with FMA | 1.5 + \|x\| / 20, 5.5 at the ends | 0 below -86.98, where it is under 1.7e-38 |
 * | exp, without | 0.6 | |
 * | log | 1.6 | |
 * | pow | 0.6 | |
 * | erf, of generators that call it by its name | 6.5 | |
 *
 * NaN, infinities, denormals and the sign of 0 are as in libm. Those of f16 are computed in f32, and f64 stays. Halide's own erf
 * is no function but an expression, and stays too. One element is computed as a vector of them, so that a result does not depend
 * on where it lies.
 */

#include <memory>

#include <Halide.h>

namespace halyard {

/** A pass for Pipeline::add_custom_lowering_pass, on the host. Calls are known by Halide's names, as tanh_f32, and by C's, as tanhf. */
std::unique_ptr<Halide::Internal::IRMutator> compute_math_in_vectors(const Halide::Target &target);

}  // namespace halyard

#endif
