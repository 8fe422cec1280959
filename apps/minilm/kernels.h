#ifndef MINILM_KERNELS_H
#define MINILM_KERNELS_H

/** \file
 * The kernels of the encoder as a table, so that a schedule is picked at run time.
 */

#include <HalideRuntime.h>

#include <string>

namespace minilm {

/** All buffers are f32, dimensions from the innermost outwards. They return 0. */
struct Kernels {
    using Linear = int (*)(halide_buffer_t *a /* k, m */,
                           halide_buffer_t *b_packed /* 1, panel, k, n / panel */,
                           halide_buffer_t *bias /* n */, halide_buffer_t *y /* n, m */);
    using LinearResidual = int (*)(halide_buffer_t *a, halide_buffer_t *b_packed,
                                   halide_buffer_t *bias, halide_buffer_t *residual /* n, m */,
                                   halide_buffer_t *y);
    using Attention = int (*)(halide_buffer_t *q /* d, s, h, b */, halide_buffer_t *k,
                              halide_buffer_t *v, float scale, halide_buffer_t *out);
    using LayerNorm = int (*)(halide_buffer_t *x /* columns, rows */, halide_buffer_t *weight,
                              halide_buffer_t *bias, float eps, halide_buffer_t *y);

    const char *name;
    Linear qkv;
    Linear gelu;
    LinearResidual residual;
    Attention attention;
    LayerNorm layer_norm;
};

/** "fused" or "unfused"; throws for another name. */
const Kernels &find_kernels(const std::string &name);

/** Kernels report to standard error and return a code, instead of aborting. */
void report_kernel_errors();

/** Threads of the kernels; 0 leaves it to the Halide runtime. */
void set_kernel_threads(int threads);

}  // namespace minilm

#endif
