#ifndef HALYARD_LLM_CUDA_VIEWS_H
#define HALYARD_LLM_CUDA_VIEWS_H

/** \file
 * Arrays in the memory of a GPU, as arguments of kernels.
 */

#include <cstdint>

#include "common/device_block.h"
#include "weights_on_device.h"

namespace halyard_llm {

using halyard_apps::DeviceView;
using halyard_apps::dim;

constexpr halide_type_t kFloat{halide_type_float, 32}, kHalf{halide_type_float, 16}, kBFloat{halide_type_bfloat, 16},
    kByte{halide_type_uint, 8}, kInt8{halide_type_int, 8}, kInt{halide_type_int, 32};

class Vector : public DeviceView<1> {
public:
    Vector(halide_type_t type, uint64_t address, int64_t count) : DeviceView<1>(type, address, dim(count, 1)) {}
};

/** Rows that follow each other. */
class Rows : public DeviceView<2> {
public:
    Rows(halide_type_t type, uint64_t address, int64_t columns, int64_t rows)
        : DeviceView<2>(type, address, dim(columns, 1), dim(rows, columns)) {}
};

/** The weights of a part of a product: interleaved blocks. */
inline DeviceView<3> blocks_of(const ProductOnDevice::Part &part) {
    const Panels p = panels_of(part.type, part.k, part.n);
    return DeviceView<3>(kByte, part.data, dim(p.bytes, 1), dim(p.blocks, p.bytes), dim(p.panels, p.blocks * p.bytes));
}

}  // namespace halyard_llm

#endif
