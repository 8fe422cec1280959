#ifndef HALYARD_EMULATOR_BARRIERS_H
#define HALYARD_EMULATOR_BARRIERS_H

/** \file
 * Barriers in shared memory (mbarrier), which count threads and bytes; barriers of some of a block's threads, by
 * number.
 */

#include "agents.h"

namespace halyard {
namespace emulator {

/** A phase ends when so many threads have arrived and no byte is missing. */
struct Mbarrier {
    unsigned at;  // of shared memory
    int count, missing;
    int64_t bytes;    // expected and not there yet; below 0: there and not expected yet
    uint32_t phases;  // ended so far
    int waking;       // threads whose phase has ended, and which have not gone on yet
    int maker;        // the thread that made it
    uint32_t made_time, made_epoch;
    bool ready;      // also for TMA
    uint32_t *told;  // what those know who arrived
};

/** bar.sync: for threads in whole warps. */
struct NamedBarrier {
    int count, arrived;
    uint32_t *told;
};
constexpr int kNamedBarriers = 16;

inline Mbarrier mbarriers[kMaxBarriers];
inline int mbarrier_count = 0;
inline NamedBarrier named_barriers[kNamedBarriers];

constexpr const char *kMbarrierWait = "barrier_wait", *kNamedBarrierWait = "the barrier";

inline uint32_t *no_knowledge() {
    const size_t bytes = size_t(state.columns) * sizeof(uint32_t);
    auto *all = static_cast<uint32_t *>(aligned_alloc(64, (bytes + 63) / 64 * 64));
    memset(all, 0, bytes);
    return all;
}

inline int find_mbarrier(unsigned at) {
    for (int i = 0; i < mbarrier_count; i++) {
        if (mbarriers[i].at == at) {
            return i;
        }
    }
    return -1;
}

template<class T>
int mbarrier_at(const shared<T> &b) {
    static_assert(sizeof(T) == 8, "an mbarrier is an uint64_t");
    const SharedAccess a = b.access(8, 8);
    const int i = find_mbarrier(a.at);
    if (i < 0) {
        fail_shared(a, "uses the barrier that is", -1, ", which nobody has made: barrier_init is missing");
    }
    const Mbarrier &m = mbarriers[i];
    if (m.maker != state.current->number && m.made_epoch == state.epoch && !known(m.maker, m.made_time)) {
        fail_shared(a, "uses the barrier that is", m.maker, " has made with no barrier of threads since");
    }
    return i;
}

inline bool phase_ended(const Mbarrier &m, uint64_t parity) {
    return (m.phases & 1) != parity;
}

inline void check_phase(int index) {
    Mbarrier &m = mbarriers[index];
    if (m.missing > 0 || m.bytes != 0) {
        return;
    }
    if (m.waking > 0) {
        for (int i = 0; i < state.thread_count; i++) {
            Thread &t = state.threads[i];
            if (t.operation == kMbarrierWait && t.object == index && t.state == Thread::ready) {
                const ThreadName name(i);
                report("the barrier at byte %u ends phase %u while thread %s still waits for the one before, and may "
                       "do so for ever",
                       m.at, m.phases, name.text);
                return;
            }
        }
    }
    m.phases++;
    m.missing = m.count;
    m.told[column(kFirstAgent + index)] = m.phases;
    for (int i = 0; i < state.thread_count; i++) {
        Thread &t = state.threads[i];
        if (t.state == Thread::waits && t.operation == kMbarrierWait && t.object == index && phase_ended(m, t.value)) {
            t.state = Thread::ready;
            m.waking++;
        }
    }
}

inline void arrive(int index) {
    Mbarrier &m = mbarriers[index];
    if (m.missing == 0) {
        fail("arrives at the barrier at byte %u, at which all %d have arrived in this phase", m.at, m.count);
    }
    tell(state.current->number, m.told);
    m.missing--;
    check_phase(index);
    if (state.failed) {
        leave();
    }
}

/** Waits for `count` threads at a barrier of the block, or only arrives there. */
inline void named_barrier(int id, int count, bool waits) {
    Thread &me = *state.current;
    begin_extension();
    if (id < 1 || id >= kNamedBarriers || count % kWarp != 0 || count <= 0 || count > state.thread_count) {
        fail("the barrier %d of %d threads: the numbers are 1 to 15 (0 is __syncthreads), the threads whole warps of "
             "the block",
             id, count);
    }
    NamedBarrier &b = named_barriers[id];
    if (b.arrived > 0 && b.count != count) {
        fail("the barrier %d of %d threads, at which others wait for %d", id, count, b.count);
    }
    if (!b.told) {
        b.told = no_knowledge();
    }
    b.count = count;
    tell(me.number, b.told);
    b.arrived++;
    me.operation = kNamedBarrierWait;
    me.object = id;
    me.value = 0;
    if (b.arrived < count) {
        if (waits) {
            me.state = Thread::waits;
            leave();
        } else {
            me.object = -1;
        }
        return;
    }
    b.arrived = 0;
    me.state = waits ? Thread::waits : Thread::ready;
    for (int i = 0; i < state.thread_count; i++) {
        Thread &t = state.threads[i];
        if (t.state == Thread::waits && t.operation == kNamedBarrierWait && t.object == id) {
            learn(knowledge(i), b.told);
            t.object = -1;
            t.state = Thread::ready;
        }
    }
    me.object = -1;
    memset(b.told, 0, size_t(state.columns) * sizeof(uint32_t));
}

}  // namespace emulator

/** An mbarrier: a phase ends when `count` threads have arrived and all bytes that are expected have come. */
inline void barrier_init(const shared<uint64_t> &b, int count) {
    using namespace emulator;
    begin_extension();
    const SharedAccess a = b.access(8, 8);
    if (count < 1 || count > 0xfffff) {
        fail("makes a barrier for %d arrivals", count);
    }
    if (find_mbarrier(a.at) >= 0) {
        fail_shared(a, "makes a barrier of", -1, ", which is one already");
    }
    if (mbarrier_count == kMaxBarriers) {
        fail("makes more than %d barriers", kMaxBarriers);
    }
    check_write(a, nullptr, false);
    for (int i = 0; i < 8; i++) {
        state.cells[a.at + unsigned(i)].state = kBarrier;
    }
    Mbarrier &m = mbarriers[mbarrier_count++];
    uint32_t *const told = m.told ? m.told : no_knowledge();
    m = {};
    m.at = a.at;
    m.count = m.missing = count;
    m.maker = state.current->number;
    m.made_time = my_time();
    m.made_epoch = state.epoch;
    m.told = told;
    memset(told, 0, size_t(state.columns) * sizeof(uint32_t));
}

/** The barriers that the thread has made are there for TMA, too. */
inline void barriers_ready() {
    using namespace emulator;
    for (int i = 0; i < mbarrier_count; i++) {
        mbarriers[i].ready = mbarriers[i].ready || mbarriers[i].maker == state.current->number;
    }
}

inline void barrier_arrive(const shared<uint64_t> &b) {
    emulator::arrive(emulator::mbarrier_at(b));
}

/** Arrives, and expects so many bytes in this phase. */
inline void barrier_expect(const shared<uint64_t> &b, int bytes) {
    using namespace emulator;
    const int i = mbarrier_at(b);
    if (bytes < 0 || bytes > 0xfffff) {
        fail("expects %d bytes at the barrier at byte %u; it counts to 1048575", bytes, mbarriers[i].at);
    }
    mbarriers[i].bytes += bytes;
    arrive(i);
}

/** Until the phase of that parity has ended. */
inline void barrier_wait(const shared<uint64_t> &b, int parity) {
    using namespace emulator;
    const int i = mbarrier_at(b);
    Mbarrier &m = mbarriers[i];
    Thread &me = *state.current;
    if (parity != 0 && parity != 1) {
        fail("waits for parity %d at the barrier at byte %u; it is 0 or 1", parity, m.at);
    }
    if (!phase_ended(m, uint64_t(parity))) {
        me.operation = kMbarrierWait;
        me.object = i;
        me.value = uint64_t(parity);
        me.state = Thread::waits;
        leave();
        m.waking--;
        me.object = -1;
    }
    learn(knowledge(me.number), m.told);
}
/** Threads of the emulator wait for those of their warp where they do something together. */
inline void warp_wait(const shared<uint64_t> &b, int parity) {
    barrier_wait(b, parity);
}

/** Threads of one warpgroup wait for each other. */
inline void warpgroup_barrier(int warpgroup) {
    emulator::named_barrier(warpgroup + 1, emulator::kWarpgroup, true);
}
/** Threads of the first so many warpgroups. */
template<int Warpgroups>
void warpgroups_barrier() {
    emulator::named_barrier(8, Warpgroups * emulator::kWarpgroup, true);
}
/** Warpgroups take turns. */
template<int Warpgroups>
void ping_pong_begins(int warpgroup) {
    emulator::named_barrier(9 + warpgroup, 2 * emulator::kWarpgroup, true);
}
template<int Warpgroups>
void ping_pong_ends(int warpgroup) {
    emulator::named_barrier(9 + (warpgroup + 1) % Warpgroups, 2 * emulator::kWarpgroup, false);
}

}  // namespace halyard

#endif
