#ifndef HALYARD_MMA_PLAIN_H
#define HALYARD_MMA_PLAIN_H

/** \file
 * Products of tiles (mma.h) in plain loops, where there are no tile instructions, or they cannot say the result.
 */

#include "mma.h"

namespace halyard_mma {

inline float widen(uint16_t bf16) {
    const uint32_t bits = uint32_t(bf16) << 16;
    float f;
    memcpy(&f, &bits, sizeof(f));
    return f;
}

inline float widen(float v) {
    return v;
}

inline int32_t widen(uint8_t v) {
    return v;
}

inline int32_t widen(int8_t v) {
    return v;
}

template<typename C, typename A, typename B>
void multiply_plainly(const Product &p) {
    constexpr int kGroup = 4 / sizeof(A);
    if (p.lines.count != 1) {
        for (int line = 0; line < p.lines.count; line++) {
            multiply_plainly<C, A, B>(line_of(p, line));
        }
        return;
    }
    for (int r = 0; r < p.rows; r++) {
        C *c = static_cast<C *>(p.c.at(r, 0));
        if (p.fresh) {
            memset(c, 0, sizeof(C) * size_t(p.cols));
        }
        for (int tap = 0; tap < p.taps(); tap++) {
            for (int g = 0; g < p.groups; g++) {
                const A *a = static_cast<const A *>(p.a_of(tap).at(r, g));
                const B *b = static_cast<const B *>(p.b_of(tap).at(g, 0));
                for (int i = 0; i < p.cols; i++) {
                    for (int m = 0; m < kGroup; m++) {
                        c[i] += widen(a[m]) * widen(b[i * kGroup + m]);
                    }
                }
            }
        }
    }
}

}  // namespace halyard_mma

#endif
