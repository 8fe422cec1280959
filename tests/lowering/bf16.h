#ifndef HALYARD_TESTS_BF16_H
#define HALYARD_TESTS_BF16_H

/** \file
 * A number of bf16 of the tests: cut from a float.
 */

#include <cstdint>
#include <cstring>

struct Bf16 {
    uint16_t bits;

    Bf16(float f = 0) {
        uint32_t u;
        memcpy(&u, &f, 4);
        bits = uint16_t(u >> 16);
    }
    explicit operator float() const {
        const uint32_t u = uint32_t(bits) << 16;
        float f;
        memcpy(&f, &u, 4);
        return f;
    }
};

#endif
