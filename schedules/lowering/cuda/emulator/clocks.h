#ifndef HALYARD_EMULATOR_CLOCKS_H
#define HALYARD_EMULATOR_CLOCKS_H

/** \file
 * What threads know of each other. A thread's time is the number of its operations with others; two that meet take
 * each other's knowledge: up to which time each knows what the others did. Within an epoch, from one barrier of the
 * block to the next, what one thread did is before what another one does where the other one knows of it.
 *
 * As long as only lanes of a warp and whole blocks meet, a thread's knowledge is of its warp (32 columns). Kernels with
 * other barriers have a column for each thread of the block, and for the agents that are no threads.
 */

#include "threads.h"

namespace halyard {
namespace emulator {

/** Barriers in shared memory (TMA's work is known to who has waited for its barrier), and the tensor cores
 * of each warpgroup. They follow after the threads. */
constexpr int kMaxBarriers = 128, kMaxWarpgroups = 8, kAgents = kMaxBarriers + kMaxWarpgroups;

/** A block's agent, where otherwise is the number of a thread. */
constexpr int kFirstAgent = kMaxThreads;

inline uint32_t *knowledge(int thread) {
    return state.clocks + size_t(thread) * size_t(state.columns);
}

inline int column(int who) {
    return !state.all_know_all ? who % kWarp : who >= kFirstAgent ? state.thread_count + who - kFirstAgent : who;
}

inline uint32_t &time_of(int thread) {
    return knowledge(thread)[column(thread)];
}

inline uint32_t my_time() {
    return time_of(state.current->number);
}

/** Whether what `other` did at `time` of this epoch is known to the current thread. */
inline bool known(int other, uint32_t time) {
    const int me = state.current->number;
    return (state.all_know_all || me / kWarp == other / kWarp) && knowledge(me)[column(other)] >= time;
}

inline void forget_all() {
    state.clocks = state.warp_clocks;
    state.columns = kWarp;
    state.all_know_all = false;
    memset(state.warp_clocks, 0, sizeof(uint32_t) * size_t(state.thread_count) * kWarp);
    for (int i = 0; i < state.thread_count; i++) {
        time_of(i) = 1;
    }
}

/** From here on with a column for each thread and agent. */
inline void know_all() {
    const int columns = (state.thread_count + kAgents + 3) / 4 * 4;
    auto *all =
        static_cast<uint32_t *>(aligned_alloc(64, (size_t(state.thread_count) * size_t(columns) * sizeof(uint32_t) + 63) / 64 * 64));
    memset(all, 0, size_t(state.thread_count) * size_t(columns) * sizeof(uint32_t));
    for (int t = 0; t < state.thread_count; t++) {
        const int warp = t / kWarp * kWarp, lanes = state.thread_count - warp < kWarp ? state.thread_count - warp : kWarp;
        memcpy(all + size_t(t) * size_t(columns) + warp, knowledge(t), size_t(lanes) * sizeof(uint32_t));
    }
    state.clocks = all;
    state.columns = columns;
    state.all_know_all = true;
}

/** Takes the larger times; both have a column for all. */
inline void learn(uint32_t *mine, const uint32_t *theirs) {
    using Four = int __attribute__((vector_size(16)));
    auto *m = reinterpret_cast<Four *>(mine);
    const auto *t = reinterpret_cast<const Four *>(theirs);
    for (int i = 0; i < state.columns / 4; i++) {
        m[i] = m[i] > t[i] ? m[i] : t[i];
    }
}

/** Tells `all` what a thread knows, itself included; what it does from here on is later. */
inline void tell(int thread, uint32_t *all) {
    learn(all, knowledge(thread));
    time_of(thread)++;
}

inline unsigned existing_lanes(int warp) {
    const int n = state.thread_count - warp * kWarp;
    return n >= kWarp ? 0xffffffffu : (1u << n) - 1;
}

/** Every lane of the mask learns what the others know. */
inline void join_clocks(int warp, unsigned mask) {
    const int first = warp * kWarp, own = column(first);
    uint32_t now = 0, joined[kMaxThreads + kAgents + 4];
    memset(joined, 0, size_t(state.columns) * sizeof(uint32_t));
    for (unsigned left = mask; left; left &= left - 1) {
        const int t = first + __builtin_ctz(left);
        now = time_of(t) > now ? time_of(t) : now;
        // Of a whole warp that knows of nobody else, the times are all that there is to know.
        for (int k = 0; (state.all_know_all || mask != 0xffffffffu) && k < state.columns; k++) {
            joined[k] = knowledge(t)[k] > joined[k] ? knowledge(t)[k] : joined[k];
        }
    }
    for (unsigned left = mask; left; left &= left - 1) {
        joined[own + __builtin_ctz(left)] = now;
    }
    for (unsigned left = mask; left; left &= left - 1) {
        const int t = first + __builtin_ctz(left);
        memcpy(knowledge(t), joined, size_t(state.columns) * sizeof(uint32_t));
        time_of(t) = now + 1;
    }
}

}  // namespace emulator
}  // namespace halyard

#endif
