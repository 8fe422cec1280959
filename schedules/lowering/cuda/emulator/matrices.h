#ifndef HALYARD_EMULATOR_MATRICES_H
#define HALYARD_EMULATOR_MATRICES_H

/** \file
 * What the tensor cores compute, apart from where their operands come from.
 */

#include "arithmetic.h"

namespace halyard {
namespace emulator {

/** How deep an instruction multiplies, 32 bytes; and what it sums products of T in. */
template<class T>
constexpr int kProductDepth = 32 / int(sizeof(T));
template<class T>
struct SumOf {
    using type = float;
};
template<>
struct SumOf<int8_t> {
    using type = int32_t;
};
template<>
struct SumOf<uint8_t> {
    using type = int32_t;
};
template<class T>
using Sum = typename SumOf<T>::type;

/** An operand as it is in shared memory or registers, as a number to multiply. */
inline float factor(half x) {
    return half_bits_to_float(x.bits);
}
inline float factor(bfloat16 x) {
    return same_bits<float>(uint32_t(x.bits) << 16);
}
inline float factor(float x) {  // as TF32: the last 13 bits are not read
    return same_bits<float>(same_bits<uint32_t>(x) & 0xffffe000);
}
inline float factor(e5m2 x) {
    return half_bits_to_float(uint16_t(x.bits << 8));
}
inline float factor(e4m3 x) {
    const uint16_t magnitude = uint16_t((x.bits & 0x7f) << 7), sign = uint16_t((x.bits & 0x80) << 8);
    return half_bits_to_float(uint16_t(sign | (magnitude == 0x3f80 ? 0x7fff : magnitude))) * 256;
}
inline int32_t factor(int8_t x) {
    return x;
}
inline int32_t factor(uint8_t x) {
    return x;
}

/** c = a b, columns in eights. */
template<int N, class T, int Rows, int Depth, int Room>
void multiply_tile(const T (&a)[Rows][Depth], const T (&b)[Depth][Room], T (&c)[Rows][Room]) {
    typedef T Four __attribute__((vector_size(16)));
    for (int row = 0; row < Rows; row++) {
        for (int col = 0; col < N; col += 16) {
            Four s0 = {}, s1 = {}, s2 = {}, s3 = {};
            for (int d = 0; d < Depth; d++) {
                const auto *x = reinterpret_cast<const Four *>(&b[d][col]);
                const T y = a[row][d];
                s0 += y * x[0];
                s1 += y * x[1];
                s2 += y * x[2];
                s3 += y * x[3];
            }
            auto *to = reinterpret_cast<Four *>(&c[row][col]);
            to[0] = s0;
            to[1] = s1;
            to[2] = s2;
            to[3] = s3;
        }
    }
}

}  // namespace emulator
}  // namespace halyard

#endif
