#ifndef HALYARD_EMULATOR_WARP_H
#define HALYARD_EMULATOR_WARP_H

/** \file
 * What threads do together: the barrier of the block, and shuffles and votes of the lanes of a warp.
 */

#include "clocks.h"

namespace halyard {
namespace emulator {

/** Waits for the lanes of the mask. With `ballot`, the result has a bit for each lane whose value is not
 * 0; else it is the value of lane `source`. */
inline uint64_t with_lanes(const char *operation, unsigned mask, uint64_t value, int source, bool ballot) {
    Thread &me = *state.current;
    Thread *const lanes = state.threads + me.warp * kWarp;
    if (!(mask >> me.lane & 1)) {
        fail("%s with the mask 0x%x, in which its own lane %d is not", operation, mask, me.lane);
    }
    me.operation = operation;
    me.mask = mask;
    me.value = value;
    me.source = source;
    me.state = Thread::waits;
    const unsigned there = mask & existing_lanes(me.warp);
    for (int lane = kWarp - 1; lane >= 0; lane--) {  // the last one comes last: all others look at it alone
        if (there >> lane & 1 && (lanes[lane].state != Thread::waits || lanes[lane].operation != operation || lanes[lane].mask != mask)) {
            leave();
            return state.current->result;
        }
    }
    unsigned votes = 0;
    for (int lane = 0; lane < kWarp; lane++) {
        votes |= unsigned((there >> lane & 1) && lanes[lane].value) << lane;
    }
    for (int lane = 0; lane < kWarp; lane++) {
        if (there >> lane & 1) {
            const int from = lanes[lane].source;
            if (from >= 0 && from < kWarp && !(mask >> from & 1)) {
                fail("%s reads the value of lane %d, which is not in the mask 0x%x", operation, from, mask);
            }
            // A lane that the block does not have: any value may come.
            const bool exists = from >= 0 && from < kWarp && (there >> from & 1);
            lanes[lane].result = ballot ? votes : exists ? lanes[from].value : ~uint64_t(0);
        }
    }
    for (int lane = 0; lane < kWarp; lane++) {
        if (there >> lane & 1) {
            lanes[lane].state = Thread::ready;
        }
    }
    join_clocks(me.warp, there);
    state.meetings++;
    return me.result;
}

template<class T>
T shuffle(const char *operation, unsigned mask, T value, int source) {
    static_assert(sizeof(T) <= 8, "shuffles move up to 8 bytes");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof(T));
    bits = with_lanes(operation, mask, bits, source, false);
    memcpy(static_cast<void *>(&value), &bits, sizeof(T));
    return value;
}

inline int lane() {
    return state.current->lane;
}

constexpr const char *kSyncThreads = "__syncthreads";

}  // namespace emulator

inline void __syncthreads(place here = place()) {
    using namespace emulator;
    Thread &me = *state.current;
    me.state = Thread::waits;
    me.operation = kSyncThreads;
    me.line = here.line;
    me.mask = 0xffffffffu;
    state.at_barrier++;
    leave();
}

inline void __syncwarp(unsigned mask = 0xffffffffu) {
    emulator::with_lanes("__syncwarp", mask, 0, emulator::lane(), false);
}

template<class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
    const int lane = emulator::lane();
    return emulator::shuffle("__shfl_sync", mask, value, (lane & ~(width - 1)) | (source & (width - 1)));
}

template<class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    const int lane = emulator::lane(), source = lane - int(delta);
    return emulator::shuffle("__shfl_up_sync", mask, value, source < (lane & ~(width - 1)) ? lane : source);
}

template<class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    const int lane = emulator::lane(), source = lane + int(delta);
    return emulator::shuffle("__shfl_down_sync", mask, value, source > (lane | (width - 1)) ? lane : source);
}

template<class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
    const int lane = emulator::lane(), source = lane ^ lane_mask;
    return emulator::shuffle("__shfl_xor_sync", mask, value, source > (lane | (width - 1)) ? lane : source);
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
    return unsigned(emulator::with_lanes("__ballot_sync", mask, predicate != 0, emulator::lane(), true));
}

inline int __any_sync(unsigned mask, int predicate) {
    return __ballot_sync(mask, predicate) != 0;
}

inline int __all_sync(unsigned mask, int predicate) {
    return __ballot_sync(mask, !predicate) == 0;
}

}  // namespace halyard

#endif
