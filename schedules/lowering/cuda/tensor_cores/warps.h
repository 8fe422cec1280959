#ifndef HALYARD_LOWERING_CUDA_WARPS_H
#define HALYARD_LOWERING_CUDA_WARPS_H

/** \file
 * What kernels whose warps multiply by mma.sync have in common: the sizes of an instruction, and what there is of a device.
 */

namespace halyard {

constexpr int kWarp = 32;            // threads
constexpr int kRowsOfFragment = 16;  // of an instruction, as are the columns of a b of four registers
constexpr int kRegisters = 65536;    // of a multiprocessor
/** Of shared memory a block of sm_86, sm_89 and sm_120 has so much, and all blocks of a multiprocessor of sm_80. */
constexpr int kSharedOfBlock = 99 * 1024, kSharedOfMultiprocessor = 163 * 1024;

}  // namespace halyard

#endif
