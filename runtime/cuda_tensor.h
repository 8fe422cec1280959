#ifndef HALYARD_CUDA_TENSOR_H
#define HALYARD_CUDA_TENSOR_H

/** \file
 * Tensors that a kernel's TMA reads and writes in boxes (TMA).
 */

#include "cuda_api.h"

namespace halyard_cuda {

/** What a compiled pipeline says of such a parameter of a kernel (letter t of halyard_cuda_launch). */
struct Tensor {
    static constexpr int kMaxRank = 5;

    const halide_buffer_t *buffer;
    int type;                  // 0 float16, 1 bfloat16, 2 integers of 8 bits, 3 float32, 4 integers of 32 bits
    int rank;                  // 2 to 5
    int extent[kMaxRank];      // elements
    int stride[kMaxRank - 1];  // elements, of the second dimension and on; multiples of 16 bytes, as is the address
    int box[kMaxRank];         // elements; 128 bytes of the first dimension, or 64, where it is swizzled
    int step[kMaxRank];        // of neighbours in a box, up to 8; 1 in the first dimension
    int swizzled;              // whether chunks of 16 bytes of a box's lines change places; else lines may have any number of chunks
};

/** What the driver makes of it, and a kernel takes as its parameter. */
struct alignas(64) TensorMap {
    uint64_t opaque[16];
};

Result encode(TensorMap *map, const Tensor &tensor);

}  // namespace halyard_cuda

#endif
