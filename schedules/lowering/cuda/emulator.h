#ifndef HALYARD_EMULATOR_H
#define HALYARD_EMULATOR_H

/** \file
 * The device of tests: what printed kernels stand on when the system's C++ compiler compiles them for the
 * host (see device.h). The shared object that comes of it is the image of a pipeline, and the driver of
 * tests/emulator loads it and runs its kernels.
 *
 * The blocks of a launch run one after the other, the threads of a block as coroutines on stacks of their
 * own: each runs until it waits for others. What a device does without a word is an error here, with the
 * kernel, the block, the thread, the array and the index: an access outside of an array or not aligned, a
 * read of shared memory that nobody wrote, a race in shared memory (an access to what another thread
 * wrote, or a write to what it read, with no barrier between the two), asynchronous copies that nobody
 * waited for, barriers that some threads never reach.
 *
 * Threads run in the order of HALYARD_EMULATOR_ORDER: forward, reverse, or shuffled by a number.
 */

#include <stdint.h>

#pragma GCC visibility push(hidden)
namespace halyard {
namespace emulator {

/** A live allocation of device memory: its addresses on the device, and where its bytes are. */
struct Region {
    uint64_t begin, end;
    char *bytes;
};

/** What the driver passes to the entry of a kernel, halyard_entry_NAME(Launch *). The entry returns 0, or
 * 1 and writes what is wrong to `error`. */
struct Launch {
    int grid[3], block[3], shared_bytes;
    void **parameters;
    int (*find)(uint64_t address, Region *region);  // whether the address is in an allocation
    char *stacks;                                   // of a block's threads, one after the other
    uint64_t stack_bytes;
    int order;  // 0: forward; -1: reverse; else the seed of a shuffle
    char *error;
    uint64_t error_bytes;
};

}  // namespace emulator
}  // namespace halyard
#pragma GCC visibility pop

#ifndef HALYARD_EMULATOR_INTERFACE_ONLY

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef __x86_64__
#error "the emulator switches stacks by x86-64 instructions"
#endif

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)

// Nothing may leave a kernel's shared object: many of them are in one process.
#pragma GCC visibility push(hidden)

namespace halyard {

struct Index3 {
    unsigned x, y, z;
};

inline Index3 threadIdx, blockIdx, blockDim, gridDim;
constexpr int warpSize = 32;

template<class T, int N>
struct vec;
template<class To, class From>
To to(From x);

namespace emulator {

constexpr int kWarp = 32, kMaxThreads = 1024, kBlockBarrier = -1;

// ---- Threads ----

/** The bytes of shared memory from `to` on come from `from` when its group has been waited for. */
struct Copy {
    unsigned to;
    const char *from;
    int bytes, group;
};

struct Thread {
    void *stack = nullptr;  // where it goes on
    Index3 index;
    int number, warp, lane;
    enum { ready, waits, ended } state;
    // What it waits for: the block's barrier, or an operation of the lanes in the mask.
    const char *operation;
    unsigned mask;
    int source;       // the lane whose value it wants
    uint64_t value, result;
    // Asynchronous copies, oldest first.
    Copy *copies = nullptr;
    int copies_size = 0, copies_room = 0, groups = 0;
};

struct Warp {
    // clock[a][b]: up to which of b's times a knows what b did. A time is the number of b's operations
    // with others, and each takes all lanes in its mask to the knowledge of all.
    uint32_t clock[kWarp][kWarp];
};

/** What is known of a byte of shared memory. Times are only compared within one epoch: from one block
 * barrier to the next. */
struct Cell {
    uint32_t block;  // the one that wrote it; 0: none
    uint32_t write_epoch, write_time, read_epoch, read_time;
    uint32_t readers;  // lanes of reader_warp that read it in this epoch
    uint16_t writer, reader_warp, other_reader;
    uint8_t other_warps, atomic, copying;
};

struct Array {
    char *begin, *end;  // of the allocation
    char *start;        // what the kernel got
    char name[64];
};

struct State {
    const Launch *launch;
    const char *kernel, *parameter_names;
    void (*body)(void *);
    void *arguments;
    void *scheduler;  // its stack
    Thread *current;
    int thread_count, ended, at_barrier, failed;
    uint32_t block, epoch;
    char *shared_memory;
    Cell *cells;
    Thread threads[kMaxThreads];
    int order[kMaxThreads];
    Warp warps[kMaxThreads / kWarp];
    Array arrays[256];
};
inline State state;

/** Leaves this stack, whose registers go onto it, for another one. */
__attribute__((naked, noinline, noipa)) inline void switch_stack(void ** /*leave*/, void * /*enter*/) {
    asm volatile(
        "pushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n\t"
        "movq %rsp, (%rdi)\n\tmovq %rsi, %rsp\n\t"
        "popq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n\tret");
}

inline void leave() {
    switch_stack(&state.current->stack, state.scheduler);
    threadIdx = state.current->index;
}

inline void vreport(const char *format, va_list arguments) {
    char *at = state.launch->error;
    const uint64_t size = state.launch->error_bytes;
    uint64_t used = snprintf(at, size, "kernel %s, block (%u, %u, %u)", state.kernel, blockIdx.x, blockIdx.y, blockIdx.z);
    if (state.current && used < size) {
        const Index3 i = state.current->index;
        used += snprintf(at + used, size - used, ", thread (%u, %u, %u)", i.x, i.y, i.z);
    }
    if (used + 2 < size) {
        at[used++] = ':';
        at[used++] = ' ';
        vsnprintf(at + used, size - used, format, arguments);
    }
    state.failed = 1;
}

/** Ends the launch: threads that have not ended never go on. */
[[noreturn]] __attribute__((format(printf, 1, 2), noinline)) inline void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vreport(format, arguments);
    va_end(arguments);
    leave();
    __builtin_unreachable();
}

__attribute__((format(printf, 1, 2), noinline)) inline void report(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vreport(format, arguments);
    va_end(arguments);
}

/** "(1, 0, 0)" */
struct ThreadName {
    char text[40];
    explicit ThreadName(int number) {
        const Index3 i = state.threads[number].index;
        snprintf(text, sizeof(text), "(%u, %u, %u)", i.x, i.y, i.z);
    }
};

__attribute__((noinline)) inline void run_thread() {
    state.body(state.arguments);
    state.current->state = Thread::ended;
    state.ended++;
    leave();
}

inline void begin_thread(Thread &t) {
    const Launch &l = *state.launch;
    auto **top = reinterpret_cast<void **>(l.stacks + (t.number + 1) * l.stack_bytes);
    *--top = nullptr;  // the return address of run_thread(), which never returns
    *--top = reinterpret_cast<void *>(run_thread);
    for (int i = 0; i < 6; i++) {
        *--top = nullptr;  // the registers
    }
    t.stack = top;
    t.state = Thread::ready;
    t.operation = nullptr;
    t.copies_size = t.groups = 0;
}

inline void resume(Thread &t) {
    state.current = &t;
    threadIdx = t.index;
    switch_stack(&state.scheduler, t.stack);
    state.current = nullptr;
}

inline void shuffle_order(uint32_t &seed) {
    for (int i = state.thread_count - 1; i > 0; i--) {
        seed = seed * 1664525u + 1013904223u;
        const int j = int((seed >> 8) % unsigned(i + 1)), t = state.order[i];
        state.order[i] = state.order[j];
        state.order[j] = t;
    }
}

/** Nobody can go on, and not all are at the barrier. */
inline void report_divergence() {
    const Thread *waiting = nullptr, *other = nullptr;
    for (int i = 0; i < state.thread_count; i++) {
        const Thread &t = state.threads[i];
        if (t.state == Thread::waits && (!waiting || t.operation != waiting->operation)) {
            other = waiting ? &t : other;
            waiting = waiting ? waiting : &t;
        }
    }
    for (int i = 0; i < state.thread_count && !other; i++) {
        const Thread &t = state.threads[i];
        if (t.state == Thread::ended || t.mask != waiting->mask) {
            other = &t;
        }
    }
    const ThreadName a(waiting->number), b(other ? other->number : 0);
    if (!other) {
        report("thread %s waits at %s for lanes (mask 0x%x) that never come", a.text, waiting->operation, waiting->mask);
    } else if (other->state == Thread::ended) {
        report("threads diverge: %s waits at %s, which %s, having ended, never reaches", a.text, waiting->operation, b.text);
    } else {
        report("threads diverge: %s waits at %s (mask 0x%x), %s at %s (mask 0x%x)", a.text, waiting->operation, waiting->mask,
               b.text, other->operation, other->mask);
    }
}

inline void run_block(uint32_t &seed) {
    state.block++;
    state.epoch++;
    state.ended = state.at_barrier = 0;
    for (int i = 0; i < state.thread_count; i++) {
        begin_thread(state.threads[i]);
    }
    while (state.ended < state.thread_count) {
        bool progress = false;
        if (state.launch->order > 0) {
            shuffle_order(seed);
        }
        for (int i = 0; i < state.thread_count; i++) {
            Thread &t = state.threads[state.order[i]];
            if (t.state == Thread::ready) {
                progress = true;
                resume(t);
                if (state.failed) {
                    return;
                }
            }
        }
        if (state.at_barrier == state.thread_count) {
            state.at_barrier = 0;
            state.epoch++;
            for (int i = 0; i < state.thread_count; i++) {
                state.threads[i].state = Thread::ready;
            }
        } else if (!progress) {
            report_divergence();
            return;
        }
    }
}

inline void prepare(const Launch *l, const char *kernel) {
    state.launch = l;
    state.kernel = kernel;
    state.failed = 0;
    state.current = nullptr;
    gridDim = {unsigned(l->grid[0]), unsigned(l->grid[1]), unsigned(l->grid[2])};
    blockDim = {unsigned(l->block[0]), unsigned(l->block[1]), unsigned(l->block[2])};
    blockIdx = {0, 0, 0};
    state.thread_count = l->block[0] * l->block[1] * l->block[2];
    for (int i = 0; i < state.thread_count; i++) {
        Thread &t = state.threads[i];
        t.number = i;
        t.warp = i / kWarp;
        t.lane = i % kWarp;
        t.index = {unsigned(i) % blockDim.x, unsigned(i) / blockDim.x % blockDim.y, unsigned(i) / blockDim.x / blockDim.y};
        state.order[i] = l->order < 0 ? state.thread_count - 1 - i : i;
    }
    for (Warp &w : state.warps) {
        memset(w.clock, 0, sizeof(w.clock));
        for (int i = 0; i < kWarp; i++) {
            w.clock[i][i] = 1;
        }
    }
    state.shared_memory = static_cast<char *>(aligned_alloc(1024, (l->shared_bytes + 1024) / 1024 * 1024));
    state.cells = static_cast<Cell *>(calloc(l->shared_bytes + 1, sizeof(Cell)));
}

inline void clean_up() {
    free(state.shared_memory);
    free(state.cells);
    for (int i = 0; i < state.thread_count; i++) {
        free(state.threads[i].copies);
        state.threads[i].copies = nullptr;
        state.threads[i].copies_room = 0;
    }
}

inline void run_grid() {
    uint32_t seed = uint32_t(state.launch->order);
    for (unsigned z = 0; z < gridDim.z; z++) {
        for (unsigned y = 0; y < gridDim.y; y++) {
            for (unsigned x = 0; x < gridDim.x && !state.failed; x++) {
                blockIdx = {x, y, z};
                memset(state.shared_memory, 0xff, state.launch->shared_bytes);
                run_block(seed);
            }
        }
    }
}

// ---- What threads do together ----

inline unsigned existing_lanes(int warp) {
    const int n = state.thread_count - warp * kWarp;
    return n >= kWarp ? 0xffffffffu : (1u << n) - 1;
}

/** Every lane of the mask learns what the others know. */
inline void join_clocks(int warp, unsigned mask) {
    auto &clock = state.warps[warp].clock;
    uint32_t now = 0, joined[kWarp] = {};
    for (int lane = 0; lane < kWarp; lane++) {
        if (mask >> lane & 1) {
            now = clock[lane][lane] > now ? clock[lane][lane] : now;
            for (int k = 0; mask != 0xffffffffu && k < kWarp; k++) {
                joined[k] = clock[lane][k] > joined[k] ? clock[lane][k] : joined[k];
            }
        }
    }
    for (int lane = 0; lane < kWarp; lane++) {
        if (mask >> lane & 1) {
            joined[lane] = now;
        }
    }
    for (int lane = 0; lane < kWarp; lane++) {
        if (mask >> lane & 1) {
            memcpy(clock[lane], joined, sizeof(joined));
            clock[lane][lane] = now + 1;
        }
    }
}

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
    for (int lane = 0; lane < kWarp; lane++) {
        if (there >> lane & 1 &&
            (lanes[lane].state != Thread::waits || lanes[lane].operation != operation || lanes[lane].mask != mask)) {
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

// ---- Memory ----

constexpr int alignment_of(int bytes) {
    return bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
}

template<class T>
struct remove_const {
    using type = T;
};
template<class T>
struct remove_const<const T> {
    using type = T;
};
template<class T>
using value_of = typename remove_const<T>::type;

inline int64_t floor_index(int64_t bytes, int size) {
    return bytes >= 0 ? bytes / size : -((-bytes + size - 1) / size);
}

__attribute__((noinline, noreturn)) inline void fail_outside(const Array &a, const char *at, int bytes, int size, bool write) {
    fail("%s outside of an array: %s, element %lld, %d bytes; its allocation has the elements %lld to %lld",
         write ? "writes" : "reads", a.name, (long long)floor_index(at - a.start, size), bytes,
         (long long)floor_index(a.begin - a.start, size), (long long)floor_index(a.end - a.start, size) - 1);
}

__attribute__((noinline, noreturn)) inline void fail_aligned(const Array &a, const char *at, int size, int alignment, bool write) {
    fail("%s %d bytes at once that are not aligned: %s, element %lld", write ? "writes" : "reads", alignment, a.name,
         (long long)floor_index(at - a.start, size));
}

inline char *check_global(const Array *a, char *at, int bytes, int alignment, int size, bool write) {
    if (__builtin_expect(at < a->begin || at + bytes > a->end, 0)) {
        fail_outside(*a, at, bytes, size, write);
    }
    if (__builtin_expect(uintptr_t(at) % alignment != 0, 0)) {
        fail_aligned(*a, at, size, alignment, write);
    }
    return at;
}

/** Where an access to shared memory is, for messages. */
struct SharedAccess {
    unsigned at, array;  // bytes
    int bytes, size;     // of the access, of an element
};

__attribute__((noinline, noreturn)) inline void fail_shared(const SharedAccess &a, const char *what, int other, const char *rest) {
    const ThreadName name(other < 0 ? 0 : other);
    const int64_t element = floor_index(int64_t(a.at) - a.array, a.size);
    fail("%s element %lld of the shared array at byte %u%s%s%s", what, (long long)element, a.array, other < 0 ? "" : ", which thread ",
         other < 0 ? "" : name.text, rest);
}

/** Whether what `other` did at `time` of this epoch is known to the current thread. */
inline bool known(int other, uint32_t time) {
    const Thread &me = *state.current, &o = state.threads[other];
    return o.warp == me.warp && state.warps[me.warp].clock[me.lane][o.lane] >= time;
}

inline uint32_t my_time() {
    const Thread &me = *state.current;
    return state.warps[me.warp].clock[me.lane][me.lane];
}

inline void check_read(const SharedAccess &a, bool atomic) {
    const Thread &me = *state.current;
    const uint32_t now = my_time();
    for (unsigned i = a.at; i < a.at + unsigned(a.bytes); i++) {
        Cell &c = state.cells[i];
        if (c.copying) {
            fail_shared(a, "reads", c.writer, " copies there asynchronously, without a wait");
        }
        if (c.block != state.block) {
            fail_shared(a, "reads", -1, ", which no thread of the block has written");
        }
        if (c.write_epoch == state.epoch && c.writer != me.number && !(atomic && c.atomic) && !known(c.writer, c.write_time)) {
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
        } else if (c.reader_warp == me.warp) {
            bool all_known = true;
            for (unsigned left = c.readers & ~bit; left && all_known; left &= left - 1) {
                all_known = known(me.warp * kWarp + __builtin_ctz(left), c.read_time);
            }
            c.readers = all_known ? bit : c.readers | bit;
            c.read_time = c.read_time > now && !all_known ? c.read_time : now;
        } else {
            c.other_warps = 1;
            c.other_reader = uint16_t(me.number);
        }
    }
}

/** Where a byte stays what it is, a write by several threads is no race. Null data: it may change. */
inline void check_write(const SharedAccess &a, const char *data, bool atomic) {
    const Thread &me = *state.current;
    const uint32_t now = my_time();
    for (unsigned i = a.at; i < a.at + unsigned(a.bytes); i++) {
        Cell &c = state.cells[i];
        if (c.copying) {
            fail_shared(a, "writes", c.writer, " copies there asynchronously, without a wait");
        }
        const bool changes = !data || data[i - a.at] != state.shared_memory[i];
        if (changes && c.block == state.block) {
            if (c.write_epoch == state.epoch && c.writer != me.number && !(atomic && c.atomic) && !known(c.writer, c.write_time)) {
                fail_shared(a, "race: writes", c.writer, " has written with no barrier since");
            }
            if (c.read_epoch == state.epoch) {
                if (c.other_warps) {
                    const int other = c.reader_warp == me.warp ? c.other_reader : c.reader_warp * kWarp + __builtin_ctz(c.readers);
                    fail_shared(a, "race: writes", other, " has read with no barrier since");
                }
                const unsigned others = c.reader_warp == me.warp ? c.readers & ~(1u << me.lane) : c.readers;
                for (unsigned left = others; left; left &= left - 1) {
                    const int other = c.reader_warp * kWarp + __builtin_ctz(left);
                    if (!known(other, c.read_time)) {
                        fail_shared(a, "race: writes", other, " has read with no barrier since");
                    }
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

/** An array in device memory: what a kernel has as a parameter, or a place in it. */
template<class T>
class global {
    const emulator::Array *array = nullptr;
    char *at = nullptr;
    template<class>
    friend class global;

public:
    using element = emulator::value_of<T>;
    global() = default;
    global(const emulator::Array *array, char *at)
        : array(array), at(at) {
    }
    operator global<const T>() const {
        return {array, at};
    }
    /** The same place with elements of another type. */
    template<class U>
    explicit operator global<U>() const {
        return {array, at};
    }
    global operator+(int64_t i) const {
        return {array, at + i * int64_t(sizeof(T))};
    }
    global operator-(int64_t i) const {
        return *this + -i;
    }
    T &operator[](int64_t i) const {
        return *reinterpret_cast<T *>((*this + i).access(sizeof(T), sizeof(T), false));
    }
    T &operator*() const {
        return (*this)[0];
    }
    /** `bytes` of it, checked. */
    char *access(int bytes, int alignment, bool write) const {
        return emulator::check_global(array, at, bytes, alignment, sizeof(T), write);
    }
};

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
    explicit Element(const SharedAccess &place)
        : place(place) {
    }
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
#define HALYARD_UPDATE(OP)                                  \
    template<class U>                                       \
    const Element &operator OP##=(const U &value) const {   \
        return *this = T(T(*this) OP value);                \
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
    shared(int64_t at, int64_t begin, int64_t end)
        : at(at), begin(begin), end(end) {
    }
    /** From that byte to the end of all shared memory. */
    explicit shared(int64_t offset)
        : at(offset), begin(offset), end(emulator::state.launch->shared_bytes) {
    }
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
    emulator::SharedAccess access(int bytes, int alignment) const {
        if (at < begin || at + bytes > end || at + bytes > emulator::state.launch->shared_bytes) {
            emulator::fail("accesses element %lld of the shared array at byte %lld, which has %lld elements (the block has %d bytes)",
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

// ---- Vectors in memory: in pieces of up to 16 bytes that are aligned, as the device accesses them ----

namespace emulator {

template<class T>
void read(const global<T> &p, void *data, int bytes, int alignment) {
    memcpy(data, p.access(bytes, alignment, false), bytes);
}
template<class T>
void read(const shared<T> &p, void *data, int bytes, int alignment) {
    read_shared(p.access(bytes, alignment), data);
}
template<class T>
void write(const global<T> &p, const void *data, int bytes, int alignment) {
    memcpy(p.access(bytes, alignment, true), data, bytes);
}
template<class T>
void write(const shared<T> &p, const void *data, int bytes, int alignment) {
    write_shared(p.access(bytes, alignment), data);
}

template<class P>
using element_of = typename P::element;

}  // namespace emulator

template<int N, class P>
vec<emulator::element_of<P>, N> load(const P &p) {
    using T = emulator::element_of<P>;
    vec<T, N> v;
    emulator::read(p, &v, N * sizeof(T), emulator::alignment_of(N * sizeof(T)));
    return v;
}

/** 0 where the condition does not hold. */
template<int N, class P>
vec<emulator::element_of<P>, N> load_if(bool condition, const P &p) {
    return condition ? load<N>(p) : vec<emulator::element_of<P>, N>{};
}

template<int N, class P>
vec<emulator::element_of<P>, N> load_streaming(const P &p) {
    return load<N>(p);
}

template<class P, class T, int N>
void store(const P &p, const vec<T, N> &v) {
    emulator::write(p, &v, N * sizeof(T), emulator::alignment_of(N * sizeof(T)));
}

template<class P, class T, int N>
void store_streaming(const P &p, const vec<T, N> &v) {
    store(p, v);
}

template<int N, class P>
vec<emulator::element_of<P>, N> load_elements(const P &p) {
    vec<emulator::element_of<P>, N> v;
    for (int i = 0; i < N; i++) {
        v[i] = p[i];
    }
    return v;
}

template<int N, class P>
vec<emulator::element_of<P>, N> load_elements_if(bool condition, const P &p) {
    return condition ? load_elements<N>(p) : vec<emulator::element_of<P>, N>{};
}

template<class P, class T, int N>
void store_elements(const P &p, const vec<T, N> &v) {
    for (int i = 0; i < N; i++) {
        p[i] = v[i];
    }
}

template<class P, int N>
vec<emulator::element_of<P>, N> gather(const P &p, const vec<int, N> &index) {
    vec<emulator::element_of<P>, N> v;
    for (int i = 0; i < N; i++) {
        v[i] = p[index[i]];
    }
    return v;
}

template<class P, class T, int N>
void scatter(const P &p, const vec<int, N> &index, const vec<T, N> &v) {
    for (int i = 0; i < N; i++) {
        p[index[i]] = v[i];
    }
}

template<class P, int N>
vec<emulator::element_of<P>, N> gather_if(const vec<bool, N> &predicate, const P &p, const vec<int, N> &index) {
    vec<emulator::element_of<P>, N> v;
    for (int i = 0; i < N; i++) {
        if (predicate[i]) {
            v[i] = p[index[i]];
        } else {
            v[i] = emulator::element_of<P>();
        }
    }
    return v;
}

template<class P, class T, int N>
void scatter_if(const vec<bool, N> &predicate, const P &p, const vec<int, N> &index, const vec<T, N> &v) {
    for (int i = 0; i < N; i++) {
        if (predicate[i]) {
            p[index[i]] = v[i];
        }
    }
}

// ---- Asynchronous copies: nothing arrives before it is waited for ----

template<int Bytes, class To, class From>
void copy_async(const shared<To> &to, const global<From> &from) {
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async copies 4, 8 or 16 bytes");
    using namespace emulator;
    Thread &me = *state.current;
    const SharedAccess a = to.access(Bytes, Bytes);
    const char *source = from.access(Bytes, Bytes, false);
    check_write(a, nullptr, false);
    memset(state.shared_memory + a.at, 0xff, Bytes);
    for (int i = 0; i < Bytes; i++) {
        state.cells[a.at + i].copying = 1;
    }
    if (me.copies_size == me.copies_room) {
        me.copies_room = me.copies_room ? 2 * me.copies_room : 16;
        me.copies = static_cast<Copy *>(realloc(me.copies, me.copies_room * sizeof(Copy)));
    }
    me.copies[me.copies_size++] = {a.at, source, Bytes, me.groups};
}

inline void copy_async_commit() {
    emulator::state.current->groups++;
}

/** Waits until all but the last N groups of this thread have arrived. */
template<int N>
void copy_async_wait() {
    using namespace emulator;
    Thread &me = *state.current;
    const uint32_t now = my_time();
    int arrived = 0;
    while (arrived < me.copies_size && me.copies[arrived].group < me.groups - N) {
        const Copy &c = me.copies[arrived++];
        memcpy(state.shared_memory + c.to, c.from, c.bytes);
        for (int i = 0; i < c.bytes; i++) {
            Cell &cell = state.cells[c.to + i];
            cell.copying = 0;
            cell.block = state.block;
            cell.write_epoch = state.epoch;
            cell.write_time = now;
            cell.writer = uint16_t(me.number);
            cell.atomic = 0;
        }
    }
    me.copies_size -= arrived;
    memmove(me.copies, me.copies + arrived, me.copies_size * sizeof(Copy));
}

// ---- CUDA's own functions ----

inline void __syncthreads() {
    using namespace emulator;
    Thread &me = *state.current;
    me.state = Thread::waits;
    me.operation = kSyncThreads;
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

namespace emulator {

// The emulator runs one thread at a time: atomic is what it all is. What is checked is that a place in
// shared memory is either atomic to all or to none between two barriers.
template<class T, class F>
T update(const shared<T> &p, F f) {
    const SharedAccess a = p.access(sizeof(T), sizeof(T));
    T old;
    read_shared(a, &old, true);
    const T value = f(old);
    check_write(a, nullptr, true);
    memcpy(state.shared_memory + a.at, &value, sizeof(T));
    return old;
}
template<class T, class F>
T update(const global<T> &p, F f) {
    T &place = p[0];
    const T old = place;
    place = f(old);
    return old;
}
template<class T, class F>
T update(T *p, F f) {
    const T old = *p;
    *p = f(old);
    return old;
}

}  // namespace emulator

#define HALYARD_ATOMIC(NAME, VALUE)                                              \
    template<class P, class V>                                                   \
    auto NAME(const P &p, V v) {                                                 \
        return emulator::update(p, [v](auto old) { return decltype(old)(VALUE); }); \
    }
HALYARD_ATOMIC(atomicAdd, old + v)
HALYARD_ATOMIC(atomicSub, old - v)
HALYARD_ATOMIC(atomicMin, v < old ? v : old)
HALYARD_ATOMIC(atomicMax, old < v ? v : old)
HALYARD_ATOMIC(atomicAnd, old & v)
HALYARD_ATOMIC(atomicOr, old | v)
HALYARD_ATOMIC(atomicXor, old ^ v)
HALYARD_ATOMIC(atomicExch, v)
#undef HALYARD_ATOMIC

template<class P, class V, class W>
auto atomicCAS(const P &p, V expected, W v) {
    return emulator::update(p, [expected, v](auto old) { return old == decltype(old)(expected) ? decltype(old)(v) : old; });
}

inline void __threadfence() {
}
inline void __threadfence_block() {
}

namespace emulator {
template<class To, class From>
To same_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "of one size");
    To to;
    memcpy(&to, &from, sizeof(to));
    return to;
}
}  // namespace emulator

inline int __float_as_int(float x) {
    return emulator::same_bits<int>(x);
}
inline unsigned __float_as_uint(float x) {
    return emulator::same_bits<unsigned>(x);
}
inline float __int_as_float(int x) {
    return emulator::same_bits<float>(x);
}
inline float __uint_as_float(unsigned x) {
    return emulator::same_bits<float>(x);
}
inline float rsqrtf(float x) {
    return 1.0f / sqrtf(x);
}
inline float __expf(float x) {
    return expf(x);
}
inline float __logf(float x) {
    return logf(x);
}
inline float __fdividef(float a, float b) {
    return a / b;
}

/** 2^x; subnormal results become 0. */
inline float exp2_approx(float x) {
    const float y = exp2f(x);
    return y < 1.17549435e-38f ? 0.0f : y;
}

inline float half_bits_to_float(uint16_t h) {
    const uint32_t sign = uint32_t(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 0x3ff;
    if (exponent == 0) {
        return emulator::same_bits<float>(sign | emulator::same_bits<uint32_t>(float(mantissa) * 0x1p-24f));
    }
    return emulator::same_bits<float>(sign | (exponent == 31 ? 255u : exponent + 112) << 23 | mantissa << 13);
}

// To the nearest, ties to even; NaN stays NaN.
inline uint16_t float_to_half_bits(float f) {
    const uint32_t x = emulator::same_bits<uint32_t>(f), sign = x >> 16 & 0x8000;
    uint32_t a = x & 0x7fffffff;
    if (a > 0x7f800000) {
        return 0x7fff;
    }
    if (a >= 0x477ff000) {  // 65520, halfway past the largest
        return uint16_t(sign | 0x7c00);
    }
    if (a < 0x38800000) {  // 2^-14: subnormal, in steps of 2^-24, which are the last bits of 0.5
        return uint16_t(sign | (emulator::same_bits<uint32_t>(emulator::same_bits<float>(a) + 0.5f) - 0x3f000000));
    }
    a += 0xfff + (a >> 13 & 1);
    return uint16_t(sign | (a - (112u << 23)) >> 13);
}

inline uint16_t float_to_bfloat16_bits(float f) {
    const uint32_t x = emulator::same_bits<uint32_t>(f);
    return (x & 0x7fffffff) > 0x7f800000 ? 0x7fff : uint16_t((x + 0x7fff + (x >> 16 & 1)) >> 16);
}

/** Two at once: `low` goes to the lower address. */
inline uint32_t floats_to_half_bits(float low, float high) {
    return float_to_half_bits(low) | uint32_t(float_to_half_bits(high)) << 16;
}
inline uint32_t floats_to_bfloat16_bits(float low, float high) {
    return float_to_bfloat16_bits(low) | uint32_t(float_to_bfloat16_bits(high)) << 16;
}

// ---- The entry of a kernel ----

namespace emulator {

/** Its name, where HALYARD_KERNEL has the names; else its place. */
inline void name_parameter(char *name, int size, int index) {
    const char *at = state.parameter_names;
    for (int i = 0; i < index && at; i++) {
        at = strchr(at, ',');
        at = at ? at + 1 : nullptr;
    }
    if (!at || !*at) {
        snprintf(name, size, "parameter %d", index);
        return;
    }
    at += strspn(at, " ");
    snprintf(name, size, "%.*s", int(strcspn(at, ", ")), at);
}

template<class T>
struct Parameter {
    static T read(void *place, int) {
        T value;
        memcpy(&value, place, sizeof(T));
        return value;
    }
};
template<class T>
struct Parameter<global<T>> {
    static global<T> read(void *place, int index) {
        uint64_t address = 0;
        memcpy(&address, place, sizeof(address));
        Array &a = state.arrays[index];
        name_parameter(a.name, sizeof(a.name), index);
        Region region = {};
        if (!state.launch->find(address, &region)) {
            report("%s is 0x%llx, which is in no allocation of the device", a.name, (unsigned long long)address);
        }
        a.begin = region.bytes;
        a.end = region.bytes + (region.end - region.begin);
        a.start = region.bytes + (address - region.begin);
        return {&a, a.start};
    }
};

template<class... P>
struct Arguments {
    Arguments(void **, int) {
    }
    template<class F, class... A>
    void call(F f, const A &...a) const {
        f(a...);
    }
};
template<class First, class... Rest>
struct Arguments<First, Rest...> {
    First first;
    Arguments<Rest...> rest;
    Arguments(void **places, int index)
        : first(Parameter<First>::read(places[index], index)), rest(places, index + 1) {
    }
    template<class F, class... A>
    void call(F f, const A &...a) const {
        rest.call(f, a..., first);
    }
};

template<class... P>
struct Call {
    void (*kernel)(P...);
    Arguments<P...> arguments;
};

template<class... P>
int run(const Launch *launch, const char *name, const char *parameter_names, void (*kernel)(P...)) {
    prepare(launch, name);
    state.parameter_names = parameter_names;
    Call<P...> call = {kernel, Arguments<P...>(launch->parameters, 0)};
    state.arguments = &call;
    state.body = [](void *c) {
        auto *call = static_cast<Call<P...> *>(c);
        call->arguments.call(call->kernel);
    };
    if (!state.failed) {
        run_grid();
    }
    clean_up();
    return state.failed;
}

}  // namespace emulator

}  // namespace halyard

using namespace halyard;

#pragma GCC visibility pop

/** After a kernel: what the driver looks for. The names of the parameters, as "y, x, n", may follow, for messages. */
#define HALYARD_KERNEL(NAME, ...)                                                                                \
    extern "C" __attribute__((visibility("default"))) int halyard_entry_##NAME(const emulator::Launch *launch) { \
        return emulator::run(launch, #NAME, "" __VA_ARGS__, NAME);                                               \
    }

#endif

#endif
