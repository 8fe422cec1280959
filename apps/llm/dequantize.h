#ifndef HALYARD_LLM_DEQUANTIZE_H
#define HALYARD_LLM_DEQUANTIZE_H

/** \file
 * The f32 that blocks of a GGUF file stand for, one element after the other: for rows of embeddings, and for types of which there are no
 * kernels.
 */

#include <cstdint>

#include "gguf.h"

namespace halyard_llm {

/** Elements `first` to `first` + `count` of a tensor; both are multiples of its block. Throws std::runtime_error for a type that is
 * not known here. */
void dequantize(const Tensor &tensor, int64_t first, int64_t count, float *result);

/** An f16 by its bits. */
float half_to_float(uint16_t bits);

/** The bits of the nearest bf16, the even one of two. */
uint16_t float_to_bf16(float value);

}  // namespace halyard_llm

#endif
