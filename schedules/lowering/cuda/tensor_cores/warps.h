#ifndef HALYARD_LOWERING_CUDA_WARPS_H
#define HALYARD_LOWERING_CUDA_WARPS_H

/** \file
 * What kernels whose warps multiply by mma.sync have in common: the sizes of an instruction, and what there is of a device.
 */

#include "lowering/multiprocessor.h"

namespace halyard {

constexpr int kWarp = 32;            // threads
constexpr int kRowsOfFragment = 16;  // of an instruction, as are the columns of a b of four registers
constexpr int kRegisters = Multiprocessor::kRegisters;
/** Of shared memory a block of sm_86, sm_89 and sm_120 has so much, and one of sm_80. */
constexpr int kSharedOfBlock = multiprocessor(86).shared_of_block(), kSharedOfAmpere = multiprocessor(80).shared_of_block();

}  // namespace halyard

#endif
