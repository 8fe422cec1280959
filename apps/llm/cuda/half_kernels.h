#ifndef HALYARD_LLM_CUDA_HALF_KERNELS_H
#define HALYARD_LLM_CUDA_HALF_KERNELS_H

/** \file
 * What many rows are multiplied by on a GPU: weights in f16, along k, by rows in f16, summed in f32. Functions of addresses, as in kernels.h.
 */

#include <cstdint>

#include "weights_on_device.h"

namespace halyard_llm {

/** y = x in f16. */
void narrow_on_device(uint64_t x, int columns, int rows, uint64_t y);

/** y = a w (+ bias, in f16, where it is not 0), in f32: a is [k, rows], w [k, n]. */
void half_product_on_device(uint64_t a, uint64_t w, uint64_t bias, int k, int n, int rows, uint64_t y);

/** y = silu(a w_gate) * (a w_up), in f16. */
void half_swiglu_on_device(uint64_t a, uint64_t w_gate, uint64_t w_up, int k, int n, int rows, uint64_t y);

/** y = x / rms(x) * weight in f16, of x in f32, to which `more` is added first where it is not 0; `sum` then gets that. */
void half_norm_on_device(uint64_t x, uint64_t more, uint64_t weight, int columns, int rows, float eps, uint64_t y, uint64_t sum);

}  // namespace halyard_llm

#endif
