#ifndef HALYARD_EMULATOR_AGENTS_H
#define HALYARD_EMULATOR_AGENTS_H

/** \file
 * What goes on beside the threads, and may read what they have made visible to it: see barriers.h, tma.h and
 * tensor_cores.h.
 */

#include "collective.h"

namespace halyard {
namespace emulator {

/** From here on the kernel has what device.h alone does not. */
inline void begin_extension();

/** What threads from `first` on know, all of them, of somebody: the least time. Asked for often, so kept. */
class CommonKnowledge {
    int first, count;
    int known_column = -1;
    uint32_t known_time = 0;

public:
    CommonKnowledge(int first, int count) : first(first), count(count) {}
    bool holds(int who, uint32_t time) {
        const int c = column(who);
        if (c != known_column) {
            known_column = c;
            known_time = 0xffffffffu;
            for (int t = first; t < first + count; t++) {
                const uint32_t k = knowledge(t)[c];
                known_time = k < known_time ? k : known_time;
            }
        }
        return known_time >= time;
    }
    /** Whether all of them have made what `who` wrote then visible to the tensor cores. */
    bool received(int who, uint32_t time, uint32_t epoch) const;
};

/** When a thread has made its ordinary stores to shared memory visible to TMA and the tensor cores. */
struct Fences {
    static constexpr int kKept = kMaxBarriers;  // who fills slots of rings is ahead of those who read them by fewer
    uint32_t time[kKept], epoch[kKept];
    unsigned count;
};

/** What a thread knew of the others when it made all of that visible to the tensor cores. */
struct Received {
    uint32_t time[kMaxThreads];
    uint32_t epoch;
    bool any;  // in this block
};

/** The rest of a thread. */
struct AsyncThread {
    Fences fences;
    uint32_t stores, stored;         // groups of stores to device memory: begun with, waited for
    uint32_t groups, groups_waited;  // of products, likewise
    uint32_t register_fences;
    bool open_group;  // there are products in no group yet
    int registers;
};
inline AsyncThread async_threads[kMaxThreads];
inline Received received[kMaxThreads];

inline AsyncThread &async_thread() {
    return async_threads[state.current->number];
}

inline bool CommonKnowledge::received(int who, uint32_t time, uint32_t epoch) const {
    for (int t = first; t < first + count; t++) {
        const Received &r = emulator::received[t];
        if (!r.any || r.epoch < epoch || (r.epoch == epoch && r.time[who] < time)) {
            return false;
        }
    }
    return true;
}

/** Whether the stores of `writer` up to `time` are visible to agents that those threads start. */
inline bool fenced(int writer, uint32_t time, uint32_t epoch, CommonKnowledge &by) {
    const Fences &f = async_threads[writer].fences;
    const unsigned kept = f.count > Fences::kKept ? Fences::kKept : f.count;
    int first = -1;  // behind the stores: who knows of a later one knows of it
    for (unsigned i = f.count; i > f.count - kept; i--) {
        const unsigned k = (i - 1) % Fences::kKept;
        if (f.time[k] < time || f.epoch[k] < epoch) {
            break;
        }
        first = int(k);
    }
    return first >= 0 && (f.epoch[first] < state.epoch || by.holds(writer, f.time[first]));
}

/** Checks what an agent reads of shared memory, for `count` threads from `first` on: all of them know of the writes. */
class AgentReader {
    const char *what;
    CommonKnowledge of_barriers, of_threads;
    // The last write that was right: neighbours often are of one.
    int good_writer = -1;
    uint32_t good_time = 0, good_epoch = 0;

public:
    AgentReader(const char *what, int first, int count) : what(what), of_barriers(first, count), of_threads(first, count) {}

    void check(SharedAccess a) {
        const unsigned end = a.at + unsigned(a.bytes);
        while (a.at < end) {
            const Chunk &chunk = state.chunks[a.at / kChunk];
            if (chunk.copying) {
                fail_shared(a, what, kFirstAgent, " still fills: its barrier has to be waited for first");
            }
            if (chunk.by_engine) {
                check_loaded(a, kFirstAgent + chunk.barrier, chunk.barrier_time);
                a.at = (a.at / kChunk + 1) * kChunk;
            } else {
                check_cell(a, state.cells[a.at]);
                a.at++;
            }
        }
    }

private:
    void check_loaded(const SharedAccess &a, int barrier, uint32_t time) {
        if (!of_barriers.holds(barrier, time)) {
            fail_shared(a, what, kFirstAgent, " has filled, without a wait for its barrier by all threads");
        }
    }

    void check_cell(const SharedAccess &a, const Cell &c) {
        if (c.state) {
            fail_shared(a, what, c.writer, c.state == kBarrier ? " made a barrier" : " copies there asynchronously, without a wait");
        }
        if (c.block != state.block) {
            fail_shared(a, what, -1, ", which no thread of the block has written");
        }
        if (c.writer >= kFirstAgent) {
            check_loaded(a, c.writer, c.write_time);
            return;
        }
        if (c.writer == good_writer && c.write_time == good_time && c.write_epoch == good_epoch) {
            return;
        }
        if (c.write_epoch == state.epoch && !of_threads.holds(c.writer, c.write_time)) {
            fail_shared(a, what, c.writer, " has written with no barrier since");
        }
        if (!fenced(c.writer, c.write_time, c.write_epoch, of_threads) && !of_threads.received(c.writer, c.write_time, c.write_epoch)) {
            fail_shared(a, what, c.writer, " has written, without fence_shared() and a barrier after it");
        }
        good_writer = c.writer;
        good_time = c.write_time;
        good_epoch = c.write_epoch;
    }
};

}  // namespace emulator

/** Ordinary stores to shared memory become visible to the tensor cores and TMA. */
inline void fence_shared() {
    using namespace emulator;
    begin_extension();
    Fences &f = async_thread().fences;
    const unsigned k = f.count++ % Fences::kKept;
    f.time[k] = my_time();
    f.epoch[k] = state.epoch;
    time_of(state.current->number)++;
}

/** What other threads have copied or stored there, and this one knows of by a barrier, becomes visible to the tensor cores. */
inline void fence_received() {
    using namespace emulator;
    begin_extension();
    Received &r = received[state.current->number];
    memcpy(r.time, knowledge(state.current->number), sizeof(uint32_t) * size_t(state.thread_count));
    r.epoch = state.epoch;
    r.any = true;
}

}  // namespace halyard

#endif
