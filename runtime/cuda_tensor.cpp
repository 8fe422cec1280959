// Descriptors for TMA. They are made at each launch, which costs little beside it.

#include "cuda_tensor.h"

namespace halyard_cuda {

namespace {

// Of cuTensorMapEncodeTiled, by their values in cuda.h.
constexpr int kUInt8 = 0, kInt32 = 3, kFloat16 = 6, kFloat32 = 7, kBFloat16 = 9;
constexpr int kNotInterleaved = 0, kNoSwizzle = 0, kSwizzle64 = 2, kSwizzle128 = 3, kPromote256 = 3, kFillZeros = 0;

}  // namespace

Result encode(TensorMap *map, const Tensor &t) {
    constexpr int kRank = Tensor::kMaxRank;
    constexpr struct { int number, bytes; } kTypes[] = {{kFloat16, 2}, {kBFloat16, 2}, {kUInt8, 1}, {kFloat32, 4}, {kInt32, 4}};
    const auto &type = kTypes[t.type];
    uint64_t extents[kRank], strides[kRank - 1];
    uint32_t box[kRank], steps[kRank];
    for (int d = 0; d < t.rank; d++) {
        extents[d] = uint64_t(t.extent[d]);
        box[d] = uint32_t(t.box[d] * t.step[d]);  // the driver counts what lies between them too
        steps[d] = uint32_t(t.step[d]);
    }
    for (int d = 1; d < t.rank; d++) {  // of a dimension of one, any will do
        strides[d - 1] = t.extent[d] == 1 ? 16 : uint64_t(t.stride[d - 1]) * uint64_t(type.bytes);
    }
    const int swizzle = !t.swizzled ? kNoSwizzle : t.box[0] * type.bytes == 64 ? kSwizzle64 : kSwizzle128;
    return driver().tensor_encode(map->opaque, type.number, uint32_t(t.rank), t.buffer->device, extents, strides, box, steps,
                                  kNotInterleaved, swizzle, kPromote256, kFillZeros);
}

}  // namespace halyard_cuda
