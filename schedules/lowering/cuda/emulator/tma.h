#ifndef HALYARD_EMULATOR_COPY_ENGINE_H
#define HALYARD_EMULATOR_COPY_ENGINE_H

/** \file
 * TMA: boxes of tensors to shared memory, whose barrier counts the bytes, and back. What a thread has
 * asked for happens as late as possible, in reverse order of threads as early as possible.
 */

#include "barriers.h"
#include "tensor_map.h"

namespace halyard {
namespace emulator {

/** A box under way. */
struct Box {
    tensor_map map;
    unsigned at;  // of shared memory
    int bytes, rank, coordinate[tensor_map::kMaxRank];
    int barrier;  // of a load
    int thread;   // of a store
    uint32_t group;
};

/** Boxes, oldest first. */
struct Boxes {
    Box *all = nullptr;
    int count = 0, room = 0;

    void add(const Box &b) {
        if (count == room) {
            room = room ? 2 * room : 64;
            all = static_cast<Box *>(realloc(all, size_t(room) * sizeof(Box)));
        }
        all[count++] = b;
    }
    void remove(int i) {
        memmove(all + i, all + i + 1, size_t(--count - i) * sizeof(Box));
    }
    void release() {
        free(all);
        *this = {};
    }
};
inline Boxes loads, stores;

/** Where a byte of a box lies: 16-byte chunk c of the 128 bytes from a multiple of 128 on, line r of 8 of them, at
 * chunk c ^ r. It is the address that says so, not the place in the box. */
inline unsigned swizzled(unsigned at, int swizzle_bytes) {
    return swizzle_bytes == 0 ? at : at ^ ((at >> 7 & unsigned(swizzle_bytes / 16 - 1)) << 4);
}

/** Calls f(byte of shared memory, byte of device memory or null outside of the tensor, bytes) for each line of 16 bytes
 * or a part of it. What is stored are whole lines: of a row that ends within one, the device stores what lies behind it too. */
template<class F>
void for_each_piece(const Box &b, char *tensor, bool stores, F f) {
    const tensor_map &m = b.map;
    const int element = m.element_bytes, across = int(m.box[0]) * element;
    int64_t lines = 1;
    for (int d = 1; d < b.rank; d++) {
        lines *= m.box[d];
    }
    const int64_t extent = m.extent[0] ? m.extent[0] : int64_t(1) << 32;
    for (int64_t line = 0; line < lines; line++) {
        int64_t rest = line, offset = int64_t(b.coordinate[0]) * element;
        bool inside = true;
        for (int d = 1; d < b.rank; d++) {
            const int64_t c = b.coordinate[d] + rest % m.box[d] * m.step[d];
            rest /= m.box[d];
            inside = inside && c >= 0 && (m.extent[d] == 0 || c < m.extent[d]);
            offset += c * int64_t(m.stride[d - 1]);
        }
        for (int x = 0; x < across; x += int(kChunk)) {
            const unsigned to = swizzled(b.at + unsigned(line) * unsigned(across) + unsigned(x), m.swizzle_bytes);
            const int64_t first = b.coordinate[0] + x / element, n = int64_t(kChunk) / element;
            if (inside && first >= 0 && (stores ? first < extent : first + n <= extent)) {
                f(to, tensor + offset + x, int(kChunk));
                continue;
            }
            for (int64_t e = 0; e < n; e++) {
                const bool there = inside && first + e >= 0 && first + e < extent;
                f(to + unsigned(e) * unsigned(element), there ? tensor + offset + x + e * element : nullptr, element);
            }
        }
    }
}

/** An error where a box reaches over the ends of its allocation or of the caller's buffer, or is stored between the elements
 * of that. */
inline void check_tensor(const Box &b, Access access) {
    const tensor_map &m = b.map;
    char name[64];
    name_parameter(name, sizeof(name), m.parameter);
    Region region = {};
    if (!state.launch->find(m.address, &region)) {
        fail("%s is a tensor at 0x%llx, which is in no allocation of the device", name, (unsigned long long)m.address);
    }
    Array array;
    bound(array, region, m.address, m.parameter);
    snprintf(array.name, sizeof(array.name), "%s, by TMA", name);
    for_each_piece(b, array.start, access == kWrites, [&](unsigned, char *at, int bytes) {
        if (at && (at < array.begin || at + bytes > array.end)) {
            fail_outside(array, at, bytes, m.element_bytes, access);
        }
        if (at && access == kWrites && array.gaps) {
            check_elements(array, at, bytes, m.element_bytes, access);
        }
    });
}

template<class T>
Box make_box(const tensor_map &map, const shared<T> &place, int rank, const int *coordinates) {
    if (map.magic != tensor_map::kMagic) {
        fail("TMA is given something that is no tensor");
    }
    if (map.rank != rank) {
        fail("TMA is given %d coordinates of a tensor of %d dimensions", rank, int(map.rank));
    }
    Box b = {};
    b.map = map;
    b.rank = rank;
    b.bytes = map.element_bytes;
    for (int d = 0; d < rank; d++) {
        b.bytes *= int(map.box[d]);
        b.coordinate[d] = coordinates[d];
    }
    if (map.swizzle_bytes && int(map.box[0]) * map.element_bytes != map.swizzle_bytes) {
        fail("lines of %d bytes with a swizzle over %d are not emulated", int(map.box[0]) * map.element_bytes, int(map.swizzle_bytes));
    }
    b.at = place.access(b.bytes, 128).at;
    return b;
}

__attribute__((noinline, noreturn)) inline void fail_overtaken(const SharedAccess &a, int reader, const Box &b) {
    char what[160], tensor[64];
    name_parameter(tensor, sizeof(tensor), b.map.parameter);
    snprintf(what, sizeof(what), "race: TMA, which loads from %s for the barrier at byte %u, writes", tensor, mbarriers[b.barrier].at);
    fail_shared(a, what, reader, " has read without fence_shared() before the barrier that says so: the read may see what TMA writes");
}

/** Looks for threads whose reads TMA may overtake. A barrier orders what threads do by ordinary accesses (the generic proxy); TMA writes by
 * another one (PTX ISA, "Async proxy"), so that a read under way may see what TMA writes behind the barrier. Who has read has to call
 * fence_shared() before it arrives. What the tensor cores read, they read by TMA's proxy: wgmma_wait says that it is done. */
class OvertakenReads {
    CommonKnowledge mine;
    // The last readers that were right: neighbours often have the same.
    uint32_t good_lanes = 0, good_time = 0, good_epoch = 0;
    uint16_t good_warp = 0;
    const Chunk *good_chunk = nullptr;

public:
    OvertakenReads() : mine(state.current->number, 1) {}

    /** A thread that has read the byte in this block, and no fence of which the current thread knows of; -1: none. */
    int find(const Cell &c, const Chunk &chunk) {
        if (c.read_epoch < state.first_epoch) {
            return -1;
        }
        if (c.other_warps && &chunk != good_chunk && chunk.reads_epoch == c.read_epoch) {
            const uint32_t *const reads = chunk.reads + state.thread_count;
            for (int t = 0; t < state.thread_count; t++) {
                if (reads[t] && !fenced(t, reads[t], c.read_epoch, mine)) {
                    return t;
                }
            }
            good_chunk = &chunk;
        }
        const uint32_t time = c.read_time - c.read_spread;
        if (c.readers == good_lanes && time == good_time && c.read_epoch == good_epoch && c.reader_warp == good_warp) {
            return -1;
        }
        for (unsigned left = c.readers; left; left &= left - 1) {
            const int t = c.reader_warp * kWarp + __builtin_ctz(left);
            if (!fenced(t, time, c.read_epoch, mine)) {
                return t;
            }
        }
        good_lanes = c.readers;
        good_time = time;
        good_epoch = c.read_epoch;
        good_warp = c.reader_warp;
        return -1;
    }
};

/** As check_write, for TMA; what is left to find are those that do not know each other. */
inline void check_load(const SharedAccess &a, const Box &b) {
    CommonKnowledge mine(state.current->number, 1);
    OvertakenReads reads;
    for (unsigned i = a.at; i < a.at + unsigned(a.bytes); i += kChunk) {
        SharedAccess here = a;
        here.at = i;
        here.bytes = int(kChunk);
        Chunk &chunk = state.chunks[i / kChunk];
        const bool by_engine = chunk.by_engine && !chunk.copying && known(kFirstAgent + chunk.barrier, chunk.barrier_time);
        chunk.by_engine = by_engine ? 0 : chunk.by_engine;
        check_chunks(here, "TMA writes", true);
        if (by_engine) {
            continue;  // the cells know of nothing since
        }
        for (unsigned k = i; k < i + kChunk; k++) {
            const Cell &c = state.cells[k];
            here.at = k;
            if (c.state) {
                fail_shared(here, "TMA writes", c.writer, c.state == kBarrier ? " made a barrier" : " copies there asynchronously");
            }
            if (c.block != state.block) {
                continue;
            }
            if (written_by_another(c)) {
                fail_shared(here, "race: TMA writes", c.writer, " has written with no barrier since");
            }
            if (const int other = c.read_epoch == state.epoch ? unknown_reader(c, k) : -1; other >= 0) {
                fail_shared(here, "race: TMA writes", other, " has read with no barrier since");
            }
            if (const int other = reads.find(c, chunk); other >= 0) {
                fail_overtaken(here, other, b);
            }
            if (c.writer < kFirstAgent && !fenced(c.writer, c.write_time, c.write_epoch, mine)) {
                fail_shared(here, "TMA writes", c.writer, " has written, without fence_shared() and a barrier after it");
            }
        }
    }
}

template<class T>
void load_box(const shared<T> &to, const tensor_map &map, const shared<uint64_t> &barrier, int rank, const int *coordinates) {
    begin_extension();
    Box b = make_box(map, to, rank, coordinates);
    b.barrier = mbarrier_at(barrier);
    const Mbarrier &m = mbarriers[b.barrier];
    if (!m.ready) {
        fail("the barrier at byte %u is not there for TMA: barriers_ready() is missing after barrier_init", m.at);
    }
    check_tensor(b, kReads);
    check_load(to.access(b.bytes, 128), b);
    for (unsigned i = b.at / kChunk; i < (b.at + unsigned(b.bytes)) / kChunk; i++) {
        Chunk &c = state.chunks[i];
        c.copying = 1;
        c.by_engine = 1;
        c.barrier = uint16_t(b.barrier);
        c.barrier_time = m.phases + 1;
        c.store_epoch = 0;
        c.tensor_cores = 0;
    }
    memset(state.shared_memory + b.at, 0xff, size_t(b.bytes));
    loads.add(b);
}

inline void finish_load(int which) {
    const Box b = loads.all[which];
    loads.remove(which);
    Region region = {};
    state.launch->find(b.map.address, &region);
    for_each_piece(b, region.bytes + (b.map.address - region.begin), false, [&](unsigned to, const char *from, int bytes) {
        if (from) {
            memcpy(state.shared_memory + to, from, size_t(bytes));
        } else {
            memset(state.shared_memory + to, 0, size_t(bytes));
        }
    });
    for (unsigned i = b.at / kChunk; i < (b.at + unsigned(b.bytes)) / kChunk; i++) {
        state.chunks[i].copying = 0;
    }
    mbarriers[b.barrier].bytes -= b.bytes;
    check_phase(b.barrier);
}

template<class T>
void store_box(const tensor_map &map, const shared<T> &from, int rank, const int *coordinates) {
    begin_extension();
    Box b = make_box(map, from, rank, coordinates);
    b.thread = state.current->number;
    b.group = async_thread().stores + 1;
    check_tensor(b, kWrites);
    AgentReader("TMA reads", b.thread, 1).check(from.access(b.bytes, 128));
    for (unsigned i = b.at / kChunk; i < (b.at + unsigned(b.bytes)) / kChunk; i++) {
        state.chunks[i].storing++;
    }
    stores.add(b);
}

inline void finish_store(int which) {
    const Box b = stores.all[which];
    stores.remove(which);
    Region region = {};
    state.launch->find(b.map.address, &region);
    for_each_piece(b, region.bytes + (b.map.address - region.begin), true, [&](unsigned from, char *to, int bytes) {
        if (to) {
            memcpy(to, state.shared_memory + from, size_t(bytes));
        }
    });
    for (unsigned i = b.at / kChunk; i < (b.at + unsigned(b.bytes)) / kChunk; i++) {
        Chunk &c = state.chunks[i];
        c.storing--;
        c.store_thread = uint16_t(b.thread);
        c.store_time = time_of(b.thread);
        c.store_epoch = state.epoch;
    }
}

inline void wait_for_stores() {
    AsyncThread &me = async_thread();
    for (int i = 0; i < stores.count;) {
        if (stores.all[i].thread == state.current->number && stores.all[i].group <= me.stores) {
            finish_store(i);
        } else {
            i++;
        }
    }
}

/** Lets a load arrive. */
inline bool advance_copies(bool stuck) {
    const int order = state.launch->order;
    if (loads.count == 0 || (order == 0 && !stuck)) {
        return false;
    }
    static uint32_t seed = 1;
    seed = seed * 1664525u + 1013904223u;
    if (order > 0 && !stuck && (seed >> 16) % 4) {
        return false;
    }
    finish_load(order > 0 ? int((seed >> 8) % uint32_t(loads.count)) : 0);
    return true;
}

inline void check_copies_done() {
    char name[64];
    if (loads.count > 0) {
        const Box &b = loads.all[0];
        name_parameter(name, sizeof(name), b.map.parameter);
        report("the block ends while TMA still loads from %s to byte %u of shared memory", name, b.at);
    } else if (stores.count > 0) {
        const Box &b = stores.all[0];
        const ThreadName thread(b.thread);
        name_parameter(name, sizeof(name), b.map.parameter);
        report("the block ends while TMA may still store to %s from byte %u of shared memory: thread %s %s", name, b.at, thread.text,
               b.group > async_threads[b.thread].stores ? "has not called tensor_store_commit()" : "has not waited for it");
    }
}

}  // namespace emulator

/** A box of a tensor into shared memory; what lies outside of the tensor comes as 0. */
template<class T>
void tensor_load(const shared<T> &to, const tensor_map &map, const shared<uint64_t> &barrier, int c0, int c1) {
    const int coordinates[] = {c0, c1};
    emulator::load_box(to, map, barrier, 2, coordinates);
}
template<class T>
void tensor_load(const shared<T> &to, const tensor_map &map, const shared<uint64_t> &barrier, int c0, int c1, int c2) {
    const int coordinates[] = {c0, c1, c2};
    emulator::load_box(to, map, barrier, 3, coordinates);
}
template<class T>
void tensor_load(const shared<T> &to, const tensor_map &map, const shared<uint64_t> &barrier, int c0, int c1, int c2, int c3) {
    const int coordinates[] = {c0, c1, c2, c3};
    emulator::load_box(to, map, barrier, 4, coordinates);
}
template<class T>
void tensor_load(const shared<T> &to, const tensor_map &map, const shared<uint64_t> &barrier, int c0, int c1, int c2, int c3, int c4) {
    const int coordinates[] = {c0, c1, c2, c3, c4};
    emulator::load_box(to, map, barrier, 5, coordinates);
}

/** Back; what lies outside is left out. */
template<class T>
void tensor_store(const tensor_map &map, const shared<T> &from, int c0, int c1) {
    const int coordinates[] = {c0, c1};
    emulator::store_box(map, from, 2, coordinates);
}
template<class T>
void tensor_store(const tensor_map &map, const shared<T> &from, int c0, int c1, int c2) {
    const int coordinates[] = {c0, c1, c2};
    emulator::store_box(map, from, 3, coordinates);
}
template<class T>
void tensor_store(const tensor_map &map, const shared<T> &from, int c0, int c1, int c2, int c3) {
    const int coordinates[] = {c0, c1, c2, c3};
    emulator::store_box(map, from, 4, coordinates);
}
template<class T>
void tensor_store(const tensor_map &map, const shared<T> &from, int c0, int c1, int c2, int c3, int c4) {
    const int coordinates[] = {c0, c1, c2, c3, c4};
    emulator::store_box(map, from, 5, coordinates);
}
inline void tensor_store_commit() {
    emulator::async_thread().stores++;
}
/** Until what was stored has been read from shared memory; `tensor_store_wait`: until it is in device memory. */
inline void tensor_store_wait_read() {
    emulator::wait_for_stores();
}
inline void tensor_store_wait() {
    emulator::wait_for_stores();
}

}  // namespace halyard

#endif
