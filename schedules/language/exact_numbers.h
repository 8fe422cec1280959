#ifndef HALYARD_EXACT_NUMBERS_H
#define HALYARD_EXACT_NUMBERS_H

/** \file
 * Arithmetic of scripts on numbers that are known when a library is called. In 32 bits it would overflow for sizes that are in order,
 * and what then follows is up to LLVM: checks that are gone, divisions that end the program. What may not fit has 64 bits, and ends
 * at the largest numbers where even these are too few.
 *
 *   x.extent.0 * x.stride.1    ->    int64(x.extent.0) * int64(x.stride.1)
 *   x.extent.0 // 4 + 1              x.extent.0 / 4 + 1                          -- fits as it is
 */

#include <cstdint>

#include <Halide.h>

namespace halyard {

Halide::Expr exact_sum(Halide::Expr a, Halide::Expr b);
Halide::Expr exact_difference(Halide::Expr a, Halide::Expr b);
Halide::Expr exact_product(Halide::Expr a, Halide::Expr b);

/** As Halide has them: rounded down, and 0 where b is 0. */
Halide::Expr exact_quotient(Halide::Expr a, Halide::Expr b);
Halide::Expr exact_remainder(Halide::Expr a, Halide::Expr b);

/** One of two numbers, of which one may have 64 bits. */
Halide::Expr exact_select(const Halide::Expr &condition, Halide::Expr yes, Halide::Expr no);

/** A number of 64 bits as one of 32, for a call that asks whether it fits. It has no bounds, by which Halide would unroll loops. */
Halide::Expr in_32_bits(const Halide::Expr &e);

/** The number of 64 bits in it; any other as it is. */
Halide::Expr exact_of(const Halide::Expr &e);

}  // namespace halyard

#endif
