#ifndef HALYARD_LOWERING_MULTIPROCESSOR_H
#define HALYARD_LOWERING_MULTIPROCESSOR_H

/** \file
 * What a multiprocessor of a GPU has: the one place for capacities, of which kernels, schedules, predictions and the
 * search ask.
 */

namespace halyard {

/** Of one multiprocessor, from the table of compute capabilities in the CUDA programming guide. */
struct Multiprocessor {
    int threads, blocks;  ///< that it holds at most
    int shared_bytes;     ///< of all its blocks; of each block kReservedShared are the system's

    static constexpr int kRegisters = 65536, kRegistersOfThread = 255, kReservedShared = 1024, kThreadsOfBlock = 1024;

    /** Bytes of shared memory that a block can ask for. */
    constexpr int shared_of_block() const {
        return shared_bytes - kReservedShared;
    }
    /** Blocks for which its shared memory has room, of so many bytes each. */
    constexpr int blocks_of(int shared_of_each) const {
        return shared_bytes / (shared_of_each + kReservedShared);
    }
};

/** `capability`: ten times the compute capability, as 80, 86, 89, 90, 100, 120. One that is not known is taken for a 90. */
constexpr Multiprocessor multiprocessor(int capability) {
    switch (capability) {
    case 80: return {2048, 32, 164 << 10};
    case 86: return {1536, 16, 100 << 10};
    case 89:
    case 120: return {1536, 24, 100 << 10};
    default: return {2048, 32, 228 << 10};  // 90, 100
    }
}

/** Tiles of up to so many rows are skinny: all that takes time is to read the other operand, so the warps of a block share the
 * depth of a step in place of its rows. */
constexpr int kSkinnyRows = 32;

}  // namespace halyard

#endif
