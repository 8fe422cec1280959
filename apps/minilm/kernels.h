#ifndef MINILM_KERNELS_H
#define MINILM_KERNELS_H

/** \file
 * The kernels of the encoder as a table, so that a schedule is picked at run time.
 */

#include <HalideRuntime.h>

#include <string>

#include "pack.h"
#include "precision.h"

namespace minilm {

/** Buffers with dimensions from the innermost outwards, of one type but for the sums that wait for
 * their LayerNorm and the weights of that, which are f32. They return 0. */
struct Kernels {
    using Linear = int (*)(halide_buffer_t *a /* k, m */, halide_buffer_t *b_packed /* group, panel, k / group, n / panel */,
                           halide_buffer_t *bias /* n */, halide_buffer_t *y /* n, m */);
    using LinearResidual = int (*)(halide_buffer_t *a, halide_buffer_t *b_packed, halide_buffer_t *bias,
                                   halide_buffer_t *residual /* n, m */, halide_buffer_t *y /* f32 */);
    using Attention = int (*)(halide_buffer_t *q /* d, s, h, b */, halide_buffer_t *k, halide_buffer_t *v, float scale,
                              halide_buffer_t *out);
    using LayerNorm = int (*)(halide_buffer_t *x /* columns, rows; f32 */, halide_buffer_t *weight, halide_buffer_t *bias, float eps,
                              halide_buffer_t *y);

    const char *name;
    Precision precision;
    Linear qkv;
    Linear gelu;
    LinearResidual residual;
    Attention attention;
    LayerNorm layer_norm;
    /** How many threads share a kernel, and a loop whose iterations they share instead. One thread, without. */
    int (*threads)() = nullptr;
    int (*parallel)(void *user_context, halide_task_t task, int min, int size, uint8_t *closure) = nullptr;
    int panel = default_panel;  // columns of one of the weights
};

/** "fused" or "unfused", which there is in f32 only; throws std::invalid_argument. */
const Kernels &find_kernels(const std::string &name, Precision precision = Precision::F32);

/** Kernels report to standard error and return a code, instead of aborting. */
void report_kernel_errors();

/** Threads of the kernels; 0 leaves it to the Halide runtime. */
void set_kernel_threads(int threads);

}  // namespace minilm

#endif
