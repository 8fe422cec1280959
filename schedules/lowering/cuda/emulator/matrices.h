#ifndef HALYARD_EMULATOR_MATRICES_H
#define HALYARD_EMULATOR_MATRICES_H

/** \file
 * What the tensor cores compute, apart from where their operands come from.
 */

#include "arithmetic.h"

namespace halyard {
namespace emulator {

constexpr int kProductDepth = 16;  // of an instruction

template<class T>
float from_bits(uint16_t bits);
template<>
inline float from_bits<half>(uint16_t bits) {
    return half_bits_to_float(bits);
}
template<>
inline float from_bits<bfloat16>(uint16_t bits) {
    return same_bits<float>(uint32_t(bits) << 16);
}

/** c = a b, columns in eights. */
template<int N, int Rows, int Room>
void multiply_tile(const float (&a)[Rows][kProductDepth], const float (&b)[kProductDepth][Room], float (&c)[Rows][Room]) {
    using Four = float __attribute__((vector_size(16)));
    for (int row = 0; row < Rows; row++) {
        for (int col = 0; col < N; col += 16) {
            Four s0 = {}, s1 = {}, s2 = {}, s3 = {};
            for (int d = 0; d < kProductDepth; d++) {
                const auto *x = reinterpret_cast<const Four *>(&b[d][col]);
                const float y = a[row][d];
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
