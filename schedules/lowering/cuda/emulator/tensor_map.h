#ifndef HALYARD_EMULATOR_TENSOR_MAP_H
#define HALYARD_EMULATOR_TENSOR_MAP_H

/** \file
 * What the emulated driver makes of a tensor for TMA, and a kernel gets as its parameter.
 */

#include <stdint.h>

namespace halyard {

/** As large as the real one, of which nobody says what is in it. */
struct tensor_map {
    static constexpr uint32_t kMagic = 0x70616d74;
    static constexpr int kMaxRank = 5;

    uint32_t magic;
    uint8_t rank, element_bytes;
    uint8_t swizzle_bytes;  // 0: lines one after the other as they are
    uint8_t parameter;      // its place among those of the kernel, for messages
    uint64_t address;
    uint64_t stride[kMaxRank - 1];             // bytes
    uint32_t extent[kMaxRank], box[kMaxRank];  // elements; an extent of 2^32 is 0
    uint8_t step[kMaxRank];                    // of neighbours in a box
    uint8_t reserved[35];
};
static_assert(sizeof(tensor_map) == 128, "as the driver's");

}  // namespace halyard

#endif
