#ifndef HALYARD_CUDA_TENSOR_H
#define HALYARD_CUDA_TENSOR_H

/** \file
 * Matrices that a kernel's copy engine reads and writes in boxes (TMA).
 */

#include "cuda_api.h"

namespace halyard_cuda {

/** What a compiled pipeline says of such a parameter of a kernel (letter t of halyard_cuda_launch). */
struct Tensor {
    const halide_buffer_t *buffer;
    int type;  // 0 float16, 1 bfloat16
    int rank;  // 2
    int extent[2];
    int stride;  // elements from row to row; a multiple of 16 bytes, as is the address
    int box[2];  // elements; 128 bytes of the first dimension
};

/** What the driver makes of it, and a kernel takes as its parameter. */
struct alignas(64) TensorMap {
    uint64_t opaque[16];
};

Result encode(TensorMap *map, const Tensor &tensor);

}  // namespace halyard_cuda

#endif
