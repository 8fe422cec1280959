#ifndef HALYARD_EMULATOR_THREADS_H
#define HALYARD_EMULATOR_THREADS_H

/** \file
 * The threads of a block, as coroutines: each runs until it waits for others, and the scheduler goes round.
 */

#include "launch.h"

#ifndef __x86_64__
#error "the emulator switches stacks by x86-64 instructions"
#endif

#define __global__
#define __grid_constant__
#define __device__
#ifdef HALYARD_EMULATOR_COMPILED
#define __forceinline__ inline __attribute__((used))  // what device/emulator_object.cpp asks for is kept
#else
#define __forceinline__ inline
#endif
#define __launch_bounds__(...)
#define __cluster_dims__(...)

namespace halyard {

struct Index3 {
    unsigned x, y, z;
};

inline Index3 threadIdx, blockIdx, blockDim, gridDim;
constexpr int warpSize = 32;

/** The line of the text in which a barrier, or what waits at one, is called. */
struct place {
    int line;
    place(int line = __builtin_LINE()) : line(line) {}
};

template<class T, int N>
struct vec;
template<class To, class From>
To to(From x);

namespace emulator {

constexpr int kWarp = 32, kMaxThreads = 1024;

/** The bytes of shared memory from `to` on come from `from` when its group has been waited for; those after the valid
 * ones are 0. */
struct Copy {
    unsigned to;
    const char *from;
    int bytes, valid, group;
};

struct Thread {
    void *stack = nullptr;  // where it goes on
    Index3 index;
    int number, warp, lane;
    enum { ready, waits, ended } state;
    // What it waits for: the block's barrier, an operation of the lanes in the mask, or of `object`.
    const char *operation;
    int line;  // of the block's barrier
    unsigned mask;
    int source;  // the lane whose value it wants
    uint64_t value, result;
    int object;      // a barrier, or the first thread of those that it waits for; else -1
    void *argument;  // of what they do together
    // Asynchronous copies, oldest first.
    Copy *copies = nullptr;
    int copies_size = 0, copies_room = 0, groups = 0;
};

struct Cell;   // what is known of a byte of shared memory
struct Chunk;  // and of 16 of them

/** What kernels with barriers in shared memory, TMA and tensor cores have besides. */
struct Extension {
    void (*begin_block)();
    void (*at_block_barrier)();
    bool (*advance)(bool stuck);  // what goes on beside the threads; whether something did
    void (*end_block)();
    void (*end)();
    void (*describe)(const Thread &waiting, char *text, int size);  // what for
};

struct Array {
    char *begin, *end;  // of the buffer's elements, or of the allocation where no buffer is known
    char *start;        // what the kernel got
    int parameter;
    int gaps;  // between the elements are bytes that are none of the buffer's
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
    unsigned meetings;      // of lanes of a warp, so far
    int cluster;            // blocks that run together
    uint32_t block, epoch;  // epoch: from one barrier of the block to the next
    uint32_t first_epoch;   // of the block
    char *shared_memory;
    Cell *cells;
    Chunk *chunks;  // null without an extension
    const Extension *extension;
    // What threads know of each other, see clocks.h.
    uint32_t *clocks;
    int columns;
    bool all_know_all;
    Thread threads[kMaxThreads];
    int order[kMaxThreads];
    uint32_t warp_clocks[kMaxThreads * kWarp];
    Array arrays[256];
};
inline State state;

/** Leaves this stack, whose registers go onto it, for another one. */
__attribute__((naked, noinline, noipa)) inline void switch_stack(void ** /*leave*/, void * /*enter*/) {
    asm volatile("pushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n\t"
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
    // Their ends lie apart by other than powers of two: else all of them are in the same few lines of the processor's cache.
    constexpr int kLine = 64, kApart = 9 * kLine, kStacks = 32;
    auto **top = reinterpret_cast<void **>(l.stacks + (t.number + 1) * l.stack_bytes - t.number % kStacks * kApart);
    *--top = nullptr;  // the return address of run_thread(), which never returns
    *--top = reinterpret_cast<void *>(run_thread);
    for (int i = 0; i < 6; i++) {
        *--top = nullptr;  // the registers
    }
    t.stack = top;
    t.state = Thread::ready;
    t.operation = nullptr;
    t.object = -1;
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

/** Whether two threads wait for the same. */
inline bool wait_alike(const Thread &a, const Thread &b) {
    return a.state == b.state &&
           (a.state != Thread::waits || (a.operation == b.operation && a.object == b.object && (a.object < 0 || a.value == b.value)));
}

/** Nobody can go on, and there are barriers of other kinds than the block's: who waits for what. */
inline void report_deadlock() {
    char text[700], what[200];
    int used = 0;
    for (int i = 0; i < state.thread_count && used < int(sizeof(text));) {
        int end = i + 1;
        while (end < state.thread_count && wait_alike(state.threads[i], state.threads[end])) {
            end++;
        }
        const Thread &t = state.threads[i];
        if (t.state == Thread::ended) {
            snprintf(what, sizeof(what), "ended");
        } else if (t.object < 0 || !state.extension) {
            snprintf(what, sizeof(what), "wait at %s", t.operation);
        } else {
            state.extension->describe(t, what, sizeof(what));
        }
        used += snprintf(text + used, sizeof(text) - used, "%s threads %d to %d %s", used ? ";" : "", i, end - 1, what);
        i = end;
    }
    report("deadlock:%s", text);
}

/** Nobody can go on, and not all are at the barrier. */
inline void report_divergence() {
    for (int i = 0; i < state.thread_count; i++) {
        if (state.threads[i].state == Thread::waits && state.threads[i].object >= 0) {
            report_deadlock();
            return;
        }
    }
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
        report("threads diverge: %s waits at %s (mask 0x%x), %s at %s (mask 0x%x)", a.text, waiting->operation, waiting->mask, b.text,
               other->operation, other->mask);
    }
}

/** All wait at the barrier of the block. On a device those that wait at another one hang, or go on with what is not there. */
inline bool wait_at_one_barrier() {
    const Thread &first = state.threads[0];
    for (int i = 1; i < state.thread_count; i++) {
        if (state.threads[i].line != first.line) {
            const ThreadName a(0), b(i);
            report("threads diverge: %s waits at the barrier of line %d, %s at the one of line %d; all threads of a block have "
                   "to wait at the same one",
                   a.text, first.line, b.text, state.threads[i].line);
            return false;
        }
    }
    return true;
}

inline void run_block(uint32_t &seed) {
    state.block++;
    state.first_epoch = ++state.epoch;
    state.ended = state.at_barrier = 0;
    if (state.extension) {
        state.extension->begin_block();
    }
    for (int i = 0; i < state.thread_count; i++) {
        begin_thread(state.threads[i]);
    }
    while (state.ended < state.thread_count) {
        bool progress = false;
        if (state.launch->order > 0) {
            shuffle_order(seed);
        }
        unsigned met = state.meetings;
        int again = 0;
        for (int i = 0; i < state.thread_count; i++) {
            Thread &t = state.threads[state.order[i]];
            if (t.state == Thread::ready) {
                progress = true;
                resume(t);
                if (state.failed) {
                    return;
                }
            }
            // A warp whose lanes met goes on before the next one, while its stacks are in the processor's cache; not for ever, as it may
            // look for what another one writes.
            if (t.lane == kWarp - 1) {
                constexpr int kMostMeetings = 100;
                const bool goes_on = state.launch->order == 0 && state.meetings != met && ++again < kMostMeetings;
                met = state.meetings;
                again = goes_on ? again : 0;
                i -= goes_on ? kWarp : 0;
            }
        }
        if (state.extension && state.extension->advance(!progress && state.at_barrier < state.thread_count)) {
            progress = true;
        }
        if (state.failed) {
            return;
        }
        if (state.at_barrier == state.thread_count) {
            if (!wait_at_one_barrier()) {
                return;
            }
            state.at_barrier = 0;
            state.epoch++;
            if (state.extension) {
                state.extension->at_block_barrier();
            }
            for (int i = 0; i < state.thread_count; i++) {
                state.threads[i].state = Thread::ready;
            }
        } else if (!progress) {
            report_divergence();
            return;
        }
    }
    if (state.extension) {
        state.extension->end_block();
    }
}

inline void run_grid() {
    uint32_t seed = uint32_t(state.launch->order);
    for (unsigned z = 0; z < gridDim.z; z++) {
        for (unsigned y = 0; y < gridDim.y; y++) {
            for (unsigned i = 0; i < gridDim.x && !state.failed; i++) {
                // The first block of a cluster runs last: it reads what the others leave.
                const unsigned of_cluster = i % unsigned(state.cluster);
                blockIdx = {i - of_cluster + (unsigned(state.cluster) - 1 - of_cluster), y, z};
                memset(state.shared_memory, 0xff, state.launch->shared_bytes);
                run_block(seed);
            }
        }
    }
}

}  // namespace emulator
}  // namespace halyard

#endif
