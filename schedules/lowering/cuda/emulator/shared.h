#ifndef HALYARD_EMULATOR_SHARED_H
#define HALYARD_EMULATOR_SHARED_H

/** \file
 * Arrays in the shared memory of a block: every access is inside of its array, what is read has been written, and
 * between accesses of two threads to a byte, one of them a write, is what orders them.
 */

#include "clocks.h"
#include "global.h"

namespace halyard {
namespace emulator {

/** Where an access to shared memory is, for messages. */
struct SharedAccess {
    unsigned at, array;  // bytes
    int bytes, size;     // of the access, of an element
};

/** What is known of a byte. Times are only compared within one epoch, but for those of agents. */
struct Cell {
    uint32_t block;  // the one that wrote it; 0: none
    uint32_t write_epoch, write_time, read_epoch, read_time;
    uint32_t readers;  // lanes of reader_warp that read it in this epoch
    uint16_t writer, reader_warp, other_reader;
    uint8_t other_warps, atomic, state;
    uint16_t read_spread;  // by how much some of these lanes' times may have been below read_time
};

enum CellState { kPlain, kCopying, kBarrier };  // kCopying: by cp.async

/** What is known of 16 bytes beside their cells, in kernels with TMA and tensor cores. */
struct Chunk {
    // TMA writes it (copying), or was the last to (by_engine: the cells know nothing of it). Known to those
    // who know of the barrier's phase at that time.
    uint8_t copying, by_engine;
    uint8_t storing;       // loads from here to device memory that nobody has waited for
    uint8_t tensor_cores;  // a bit for each warpgroup whose tensor cores read it, in the group of that number
    uint16_t barrier, store_thread;
    uint32_t barrier_time, store_epoch, store_time;  // the thread that waited for the last store from here, and when
    uint32_t group[kMaxWarpgroups];
    uint32_t reads_epoch, *reads;  // of each thread, where several warps read it: at that time or before it; then: at that or after it
};

constexpr unsigned kChunk = 16;

__attribute__((noinline, noreturn)) inline void fail_shared(const SharedAccess &a, const char *what, int other, const char *rest) {
    const ThreadName name(other < 0 || other >= kFirstAgent ? 0 : other);
    const int64_t element = floor_index(int64_t(a.at) - a.array, a.size);
    fail("%s element %lld of the shared array at byte %u%s%s%s", what, (long long)element, a.array,
         other < 0              ? ""
         : other >= kFirstAgent ? ", which TMA"
                                : ", which thread ",
         other < 0 || other >= kFirstAgent ? "" : name.text, rest);
}

/** What TMA has written becomes the affair of its bytes' cells. */
inline void spread(Chunk &chunk, unsigned first) {
    chunk.by_engine = 0;
    for (unsigned i = first; i < first + kChunk && i < unsigned(state.launch->shared_bytes); i++) {
        Cell &c = state.cells[i];
        c = {};
        c.block = state.block;
        c.write_epoch = state.epoch;
        c.write_time = chunk.barrier_time;
        c.writer = uint16_t(kFirstAgent + chunk.barrier);
    }
}

inline void check_chunks(const SharedAccess &a, const char *what, bool write) {
    for (unsigned i = a.at / kChunk; i * kChunk < a.at + unsigned(a.bytes); i++) {
        Chunk &c = state.chunks[i];
        if (c.copying) {
            fail_shared(a, what, kFirstAgent, " still fills: its barrier has to be waited for first");
        }
        if (c.by_engine) {
            if (!known(kFirstAgent + c.barrier, c.barrier_time)) {
                fail_shared(a, what, kFirstAgent, " has filled, without a wait for its barrier");
            }
            spread(c, i * kChunk);
        }
        if (!write) {
            continue;
        }
        if (c.storing) {
            fail_shared(a, what, kFirstAgent, " still reads to store it: tensor_store_wait_read has to come first");
        }
        if (c.store_epoch == state.epoch && !known(c.store_thread, c.store_time)) {
            fail_shared(a, what, kFirstAgent, " has read to store it, with no barrier since the thread waited that stores it");
        }
        for (unsigned left = c.tensor_cores; left; left &= left - 1) {
            const int warpgroup = __builtin_ctz(left);
            if (!known(kFirstAgent + kMaxBarriers + warpgroup, c.group[warpgroup])) {
                fail_shared(a, what, -1, ", which the tensor cores still read: wgmma_wait has to come first, and a barrier after it");
            }
        }
    }
}

inline bool written_by_another(const Cell &c) {
    return (c.write_epoch == state.epoch || c.writer >= kFirstAgent) && c.writer != state.current->number && !known(c.writer, c.write_time);
}

/** A second warp reads a byte: from here on the time of each thread counts. */
inline void note_reader(Cell &c, unsigned at, uint32_t now) {
    const Thread &me = *state.current;
    if (!c.other_warps) {
        c.other_warps = 1;
        c.other_reader = uint16_t(me.number);
    }
    if (!state.chunks) {
        return;
    }
    Chunk &chunk = state.chunks[at / kChunk];
    const size_t bytes = 2 * size_t(state.thread_count) * sizeof(uint32_t);
    if (!chunk.reads) {
        chunk.reads = static_cast<uint32_t *>(malloc(bytes));
        chunk.reads_epoch = 0;
    }
    if (chunk.reads_epoch != state.epoch) {
        memset(chunk.reads, 0, bytes);
        chunk.reads_epoch = state.epoch;
    }
    for (unsigned left = c.readers; left; left &= left - 1) {
        const int t = c.reader_warp * kWarp + __builtin_ctz(left);
        uint32_t &latest = chunk.reads[t], &earliest = chunk.reads[state.thread_count + t];
        latest = c.read_time > latest ? c.read_time : latest;
        earliest = c.read_time - c.read_spread > earliest ? c.read_time - c.read_spread : earliest;
    }
    chunk.reads[me.number] = chunk.reads[state.thread_count + me.number] = now;
}

inline void check_read(const SharedAccess &a, bool atomic) {
    const Thread &me = *state.current;
    const uint32_t now = my_time();
    if (state.chunks) {
        check_chunks(a, "reads", false);
    }
    for (unsigned i = a.at; i < a.at + unsigned(a.bytes); i++) {
        Cell &c = state.cells[i];
        if (c.state) {
            fail_shared(a, "reads", c.writer, c.state == kBarrier ? " made a barrier" : " copies there asynchronously, without a wait");
        }
        if (c.block != state.block) {
            fail_shared(a, "reads", -1, ", which no thread of the block has written");
        }
        if (written_by_another(c) && !(atomic && c.atomic)) {
            fail_shared(a, "race: reads", c.writer, " has written with no barrier since");
        }
        if (atomic) {
            continue;  // its write says it all
        }
        const unsigned bit = 1u << me.lane;
        if (c.read_epoch != state.epoch) {
            c.read_epoch = state.epoch;
            c.reader_warp = uint16_t(me.warp);
            c.readers = bit;
            c.other_warps = 0;
            c.read_time = now;
            c.read_spread = 0;
        } else if (c.reader_warp == me.warp) {
            bool all_known = true;
            for (unsigned left = c.readers & ~bit; left && all_known; left &= left - 1) {
                all_known = known(me.warp * kWarp + __builtin_ctz(left), c.read_time);
            }
            const uint32_t first = all_known || c.read_time - c.read_spread > now ? now : c.read_time - c.read_spread;
            c.readers = all_known ? bit : c.readers | bit;
            c.read_time = c.read_time > now && !all_known ? c.read_time : now;
            c.read_spread = uint16_t(c.read_time - first < 0xffff ? c.read_time - first : 0xffff);
        } else {
            note_reader(c, i, now);
        }
    }
}

/** The thread of another warp that has read the byte, and of which the current one does not know; -1: none. */
inline int unknown_reader(const Cell &c, unsigned at) {
    const Thread &me = *state.current;
    if (c.other_warps && !state.chunks) {
        return c.reader_warp == me.warp ? c.other_reader : c.reader_warp * kWarp + __builtin_ctz(c.readers);
    }
    if (c.other_warps) {
        const Chunk &chunk = state.chunks[at / kChunk];
        for (int t = 0; t < state.thread_count && chunk.reads_epoch == state.epoch; t++) {
            if (chunk.reads[t] && t != me.number && !known(t, chunk.reads[t])) {
                return t;
            }
        }
    }
    const unsigned others = c.reader_warp == me.warp ? c.readers & ~(1u << me.lane) : c.readers;
    for (unsigned left = others; left; left &= left - 1) {
        const int other = c.reader_warp * kWarp + __builtin_ctz(left);
        if (!known(other, c.read_time)) {
            return other;
        }
    }
    return -1;
}

/** Where a byte stays what it is, a write by several threads is no race. Null data: it may change. */
inline void check_write(const SharedAccess &a, const char *data, bool atomic) {
    const Thread &me = *state.current;
    const uint32_t now = my_time();
    if (state.chunks) {
        check_chunks(a, "writes", true);
    }
    for (unsigned i = a.at; i < a.at + unsigned(a.bytes); i++) {
        Cell &c = state.cells[i];
        if (c.state) {
            fail_shared(a, "writes", c.writer, c.state == kBarrier ? " made a barrier" : " copies there asynchronously, without a wait");
        }
        const bool changes = !data || data[i - a.at] != state.shared_memory[i];
        if (changes && c.block == state.block) {
            if (written_by_another(c) && !(atomic && c.atomic)) {
                fail_shared(a, "race: writes", c.writer, " has written with no barrier since");
            }
            if (c.read_epoch == state.epoch) {
                if (const int other = unknown_reader(c, i); other >= 0) {
                    fail_shared(a, "race: writes", other, " has read with no barrier since");
                }
            }
        }
        c.block = state.block;
        c.write_epoch = state.epoch;
        c.write_time = now;
        c.writer = uint16_t(me.number);
        c.atomic = atomic;
    }
}

inline void read_shared(const SharedAccess &a, void *data, bool atomic = false) {
    check_read(a, atomic);
    memcpy(data, state.shared_memory + a.at, a.bytes);
}

inline void write_shared(const SharedAccess &a, const void *data, bool atomic = false) {
    check_write(a, static_cast<const char *>(data), atomic);
    memcpy(state.shared_memory + a.at, data, a.bytes);
}

}  // namespace emulator

template<class T>
class shared;

namespace emulator {

/** An element of shared memory: reads and writes go through the checks. */
template<class T>
class Element {
    SharedAccess place;

    template<class U>
    using arithmetic = decltype(U() * 1, U());

public:
    explicit Element(const SharedAccess &place) : place(place) {}
    Element(const Element &) = default;
    operator T() const {
        T value;
        read_shared(place, &value);
        return value;
    }
    template<class U, class = arithmetic<U>>
    explicit operator U() const {
        return U(T(*this));
    }
    const Element &operator=(const T &value) const {
        write_shared(place, &value);
        return *this;
    }
    const Element &operator=(const Element &other) const {
        return *this = T(other);
    }
#define HALYARD_UPDATE(OP)                                                                                                                 \
    template<class U>                                                                                                                      \
    const Element &operator OP##=(const U &value) const {                                                                                  \
        return *this = T(T(*this) OP value);                                                                                               \
    }
    HALYARD_UPDATE(+)
    HALYARD_UPDATE(-)
    HALYARD_UPDATE(*)
    HALYARD_UPDATE(/)
    HALYARD_UPDATE(&)
    HALYARD_UPDATE(|)
#undef HALYARD_UPDATE
    shared<T> operator&() const;
};

}  // namespace emulator

/** An array in the block's shared memory, or a place in it. */
template<class T>
class shared {
    int64_t at = 0, begin = 0, end = 0;  // bytes

public:
    using element = emulator::value_of<T>;
    shared() = default;
    shared(int64_t at, int64_t begin, int64_t end) : at(at), begin(begin), end(end) {}
    /** From that byte to the end of all shared memory. */
    explicit shared(int64_t offset) : at(offset), begin(offset), end(emulator::state.launch->shared_bytes) {}
    operator shared<const T>() const {
        return {at, begin, end};
    }
    template<class U>
    explicit operator shared<U>() const {
        return {at, begin, end};
    }
    shared operator+(int64_t i) const {
        return {at + i * int64_t(sizeof(T)), begin, end};
    }
    shared operator-(int64_t i) const {
        return *this + -i;
    }
    emulator::Element<element> operator[](int64_t i) const {
        return emulator::Element<element>((*this + i).access(sizeof(T), sizeof(T)));
    }
    emulator::Element<element> operator*() const {
        return (*this)[0];
    }
    int64_t address() const {
        return at;
    }
    emulator::SharedAccess access(int bytes, int alignment) const {
        if (at < begin || at + bytes > end || at + bytes > emulator::state.launch->shared_bytes) {
            emulator::fail("accesses element %lld of the shared array at byte %lld, which has %lld elements (the block "
                           "has %d bytes)",
                           (long long)emulator::floor_index(at - begin, sizeof(T)), (long long)begin,
                           (long long)((end - begin) / int64_t(sizeof(T))), emulator::state.launch->shared_bytes);
        }
        if (at % alignment != 0) {
            emulator::fail("accesses %d bytes at once that are not aligned: element %lld of the shared array at byte %lld", alignment,
                           (long long)((at - begin) / int64_t(sizeof(T))), (long long)begin);
        }
        return {unsigned(at), unsigned(begin), bytes, int(sizeof(T))};
    }
};

template<class T>
shared<T> emulator::Element<T>::operator&() const {
    return shared<T>(place.at, place.array, state.launch->shared_bytes);
}

/** `size` elements of shared memory from a byte on. */
template<class T>
shared<T> shared_array(int offset_in_bytes, int size) {
    return {offset_in_bytes, offset_in_bytes, offset_in_bytes + int64_t(size) * int64_t(sizeof(T))};
}

template<class To, class T>
To to(emulator::Element<T> x) {
    return to<To>(T(x));
}

}  // namespace halyard

#endif
