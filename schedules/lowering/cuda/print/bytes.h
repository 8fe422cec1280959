#ifndef HALYARD_LOWERING_CUDA_BYTES_H
#define HALYARD_LOWERING_CUDA_BYTES_H

/** \file
 * What vectors of bytes and of 16-bit floats have words for, by which one instruction takes several (device/vectors.h):
 *
 *   f16(x & 15) - 8         ->     small_bytes_to_half<8>(mask_words<15>(words of x))
 *   f16(f32(a) * f32(b))    ->     multiply_pairs(a, b)                                  -- the same bits
 *   bits of f16 = x >> 16   ->     upper_halves<half>(x)
 */

#include <optional>
#include <string>

#include <Halide.h>

namespace halyard {

/** 16-bit floats of bytes, by a word that takes them in words. */
struct BytesToFloats {
    std::string word;
    Halide::Expr bytes;
};
std::optional<BytesToFloats> bytes_to_floats(const Halide::Expr &e);

/** Bits of the bytes x, or those above them, by a word for words. */
struct PartOfBytes {
    std::string word;
    Halide::Expr x;
    bool is_small = false;  // from 0 to 127
};
std::optional<PartOfBytes> part_of_bytes(const Halide::Expr &e);

/** The numbers of 32 bits whose upper halves are the bits of these 16-bit floats; undefined if they are no such. */
Halide::Expr whole_of_upper_halves(const Halide::Internal::Reinterpret *floats);

/** A sum, difference or product of 16-bit floats. */
struct PairArithmetic {
    std::string word;
    Halide::Expr a, b;
};
std::optional<PairArithmetic> pair_arithmetic(const Halide::Expr &e);

}  // namespace halyard

#endif
