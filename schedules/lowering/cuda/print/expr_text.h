#ifndef HALYARD_LOWERING_CUDA_EXPR_TEXT_H
#define HALYARD_LOWERING_CUDA_EXPR_TEXT_H

/** \file
 * Types and numbers of Halide's IR as CUDA C++.
 */

#include <string>

#include <Halide.h>

namespace halyard {

/** `float`, `bfloat16`, `uint8_t`: of a scalar type. Throws what the compiler reports for one that no kernel can hold. */
std::string element_text(const Halide::Type &type);

/** `float`, `bfloat16`, `vec<float, 8>`. */
std::string type_text(const Halide::Type &type);

/** A literal that reads as this number in so many bits, as short as it can be: `0.1f`. NaN and infinity are calls of CUDA's. */
std::string float_text(double value, int bits);

}  // namespace halyard

#endif
