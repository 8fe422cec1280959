#ifndef HALYARD_LLM_DEQUANTIZE_H
#define HALYARD_LLM_DEQUANTIZE_H

/** \file
 * The f32 that blocks of a GGUF file stand for, one element after the other: for rows of embeddings, and for types of which there are no
 * kernels.
 */

#include <cstdint>
#include <vector>

#include "gguf.h"

namespace halyard_llm {

/** Elements `first` to `first` + `count` of a tensor; both are multiples of its block. Throws std::runtime_error for a type that is
 * not known here. */
void dequantize(const Tensor &tensor, int64_t first, int64_t count, float *result);

/** A tensor of Q5_0 as blocks of Q8_0, which stand for the same numbers to the bit. */
std::vector<uint8_t> q8_0_of_q5_0(const Tensor &tensor);

/** An f16 by its bits. */
float half_to_float(uint16_t bits);

}  // namespace halyard_llm

#endif
