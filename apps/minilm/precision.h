#ifndef MINILM_PRECISION_H
#define MINILM_PRECISION_H

/** \file
 * The storage type of weights and activations. Sums and statistics are f32 in both.
 */

#include <HalideRuntime.h>

#include <cstddef>
#include <string>

namespace minilm {

enum class Precision { F32, BF16 };

/** "f32" or "bf16"; throws std::invalid_argument for another name. */
Precision precision_of(const std::string &name);

inline halide_type_t type_of(Precision p) {
    return p == Precision::F32 ? halide_type_t(halide_type_float, 32) : halide_type_t(halide_type_bfloat, 16);
}

inline size_t bytes_of(Precision p) {
    return p == Precision::F32 ? 4 : 2;
}

/** Rows of packed weights that lie together: an instruction multiplies pairs of bf16. */
inline int group_of(Precision p) {
    return p == Precision::F32 ? 1 : 2;
}

/** The address of element i. */
inline void *element(Precision p, void *elements, size_t i) {
    return static_cast<char *>(elements) + i * bytes_of(p);
}
inline const void *element(Precision p, const void *elements, size_t i) {
    return static_cast<const char *>(elements) + i * bytes_of(p);
}

/** Rounds to nearest, ties to even; a NaN stays one. */
void store(Precision p, const float *from, size_t count, void *to);
void load(Precision p, const void *from, size_t count, float *to);

}  // namespace minilm

#endif
