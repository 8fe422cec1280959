#ifndef HALYARD_EMULATOR_TENSOR_CORES_H
#define HALYARD_EMULATOR_TENSOR_CORES_H

/** \file
 * The tensor cores of sm_90a (wgmma): a warpgroup multiplies 64 rows, 32 bytes deep, by up to 256 columns. The product is
 * done when all of its threads have come; until they have waited for it, none may touch its sums, nor anybody what it
 * reads of shared memory.
 */

#include "tma.h"
#include "matrices.h"

namespace halyard {

/** What a thread has of the sums of its warpgroup: of rows lane / 4 and 8 below among the 16 of its warp, of each 8
 * columns the two from 2 (lane % 4) on. They begin as NaN, or -1. */
template<int Count, class T = float>
class sums {
    T value[Count];
    uint32_t group = 0, touched = 0;  // its last product's; after how many fences of registers

public:
    sums() {
        memset(value, 0xff, sizeof(value));
        touched = emulator::async_thread().register_fences;
    }
    T &operator[](int i) {
        using namespace emulator;
        if (i < 0 || i >= Count) {
            fail("touches sum %d of %d", i, Count);
        }
        if (group > async_thread().groups_waited) {
            fail("touches sums that the tensor cores may still add to: %s has to come first",
                 group > async_thread().groups ? "wgmma_commit(), and then wgmma_wait<0>()," : "wgmma_wait for the group of their product");
        }
        touched = async_thread().register_fences;
        return value[i];
    }
    /** From one of them on. */
    struct place {
        using element = T;
        sums &all;
        int at;
        T &operator[](int i) const {
            return all[at + i];
        }
    };
    place operator+(int i) {
        return {*this, i};
    }
    /** For the tensor cores. */
    T *begin_product(uint32_t new_group, uint32_t fences) {
        if (touched >= fences) {
            emulator::fail("the tensor cores add to sums that the thread has touched since its last wgmma_fence()");
        }
        group = new_group;
        return value;
    }
};

namespace emulator {

constexpr int kProductRows = 64;

/** A matrix in shared memory, as matrix_descriptor() has it. */
struct Matrix {
    unsigned start, leading, stride;

    explicit Matrix(uint64_t descriptor)
        : start(unsigned(descriptor & 0x3fff) << 4), leading(unsigned(descriptor >> 16 & 0x3fff) << 4),
          stride(unsigned(descriptor >> 32 & 0x3fff) << 4) {
        if (descriptor >> 62 != 1) {
            fail("a matrix with another swizzle than that of 128 bytes is not emulated");
        }
        if ((descriptor >> 49 & 7) != 0 || (start & 0x380) != 0) {
            fail("a matrix of the tensor cores begins at byte %u: it has to be a multiple of 1024, but for the place "
                 "across in a line",
                 start);
        }
    }
    /** 8 neighbours: along the depth, of a line of it, .. */
    unsigned along_depth(int line, int eighth) const {
        return swizzled(start + unsigned(line / 8) * stride + unsigned(line % 8) * 128 + unsigned(eighth) * kChunk, 128);
    }
    /** .. or across, where lines run. */
    unsigned across(int depth, int eighth) const {
        return swizzled(start + unsigned(eighth / 8) * leading + unsigned(depth / 8) * stride + unsigned(depth % 8) * 128 +
                            unsigned(eighth % 8) * kChunk,
                        128);
    }
};

/** Reads operands for a warpgroup. */
class OperandReader {
    AgentReader reader;
    const int warpgroup;
    const uint32_t group;

public:
    OperandReader(int warpgroup, uint32_t group)
        : reader("the tensor cores read", warpgroup * kWarpgroup, kWarpgroup), warpgroup(warpgroup), group(group) {}
    /** The elements of 16 bytes from a byte on. */
    template<class T>
    void read(unsigned at, unsigned matrix, Sum<T> *to, int step) {
        if (at + kChunk > unsigned(state.launch->shared_bytes)) {
            fail("the tensor cores read byte %u of shared memory, and the block has %d", at, state.launch->shared_bytes);
        }
        reader.check({at, matrix, int(kChunk), int(sizeof(T))});
        Chunk &c = state.chunks[at / kChunk];
        c.tensor_cores |= uint8_t(1 << warpgroup);
        c.group[warpgroup] = group;
        T elements[kChunk / sizeof(T)];
        memcpy(elements, state.shared_memory + at, sizeof(elements));
        for (int i = 0; i < int(kChunk / sizeof(T)); i++) {
            to[i * step] = factor(elements[i]);
        }
    }
};

template<class T>
void read_a(const Matrix &m, OperandReader &in, Sum<T> (&a)[kProductRows][kProductDepth<T>]) {
    for (int row = 0; row < kProductRows; row++) {
        for (int i = 0; i < 2; i++) {
            in.read<T>(m.along_depth(row, i), m.start, &a[row][i * kProductDepth<T> / 2], 1);
        }
    }
}

template<class T, int N, bool Across, int Room>
void read_b(const Matrix &m, OperandReader &in, Sum<T> (&b)[kProductDepth<T>][Room]) {
    static_assert(!Across || sizeof(T) == 2, "8-bit operands have no transposed form");
    if (Across) {
        for (int d = 0; d < kProductDepth<T>; d++) {
            for (int i = 0; i < N / 8; i++) {
                in.read<T>(m.across(d, i), m.start, &b[d][i * 8], 1);
            }
        }
    } else {
        for (int col = 0; col < N; col++) {
            for (int i = 0; i < 2; i++) {
                in.read<T>(m.along_depth(col, i), m.start, &b[i * kProductDepth<T> / 2][col], Room);
            }
        }
    }
}

/** What each thread of a warpgroup gives to a product. */
struct ProductArgument {
    void *sums;
    uint64_t a, b;
    uint32_t registers[4];  // of a, where it is in registers
    bool accumulate;
};

template<class A, class B, int N, bool Across, bool FromRegisters>
bool multiply_together(Thread *threads) {
    constexpr int kRoom = (N + 15) / 16 * 16;
    Thread *const last = state.current;
    const int warpgroup = threads[0].number / kWarpgroup;
    const ProductArgument &first = argument_of<ProductArgument>(threads[0]);
    const uint32_t group = async_threads[threads[0].number].groups + 1;
    Sum<A> *sums_of[kWarpgroup];
    for (int t = 0; t < kWarpgroup; t++) {
        state.current = &threads[t];
        const ProductArgument &p = argument_of<ProductArgument>(threads[t]);
        if ((!FromRegisters && p.a != first.a) || p.b != first.b || p.accumulate != first.accumulate) {
            fail("the threads of a warpgroup multiply different matrices");
        }
        AsyncThread &async = async_thread();
        if (async.groups + 1 != group) {
            fail("the threads of a warpgroup have not called wgmma_commit equally often");
        }
        async.open_group = true;
        sums_of[t] = static_cast<sums<N / 2, Sum<A>> *>(p.sums)->begin_product(group, async.register_fences);
    }
    state.current = last;
    alignas(64) static Sum<A> a[kProductRows][kProductDepth<A>], b[kProductDepth<A>][kRoom], c[kProductRows][kRoom];
    OperandReader in(warpgroup, group);
    if (FromRegisters) {
        for (int t = 0; t < kWarpgroup; t++) {
            const ProductArgument &p = argument_of<ProductArgument>(threads[t]);
            constexpr int kIn = 4 / int(sizeof(A));  // a register
            A elements[4 * kIn];
            memcpy(elements, p.registers, sizeof(elements));
            for (int i = 0; i < 4 * kIn; i++) {
                const int r = i / kIn, row = t / kWarp * 16 + t % kWarp / 4 + r % 2 * 8;
                a[row][t % 4 * kIn + i % kIn + r / 2 * kProductDepth<A> / 2] = factor(elements[i]);
            }
        }
    } else {
        read_a<A>(Matrix(first.a), in, a);
    }
    read_b<B, N, Across>(Matrix(first.b), in, b);
    multiply_tile<N>(a, b, c);
    for (int t = 0; t < kWarpgroup; t++) {
        for (int i = 0; i < N / 2; i++) {
            const Sum<A> product = c[t / kWarp * 16 + t % kWarp / 4 + i / 2 % 2 * 8][i / 4 * 8 + t % 4 * 2 + i % 2];
            sums_of[t][i] = first.accumulate ? sums_of[t][i] + product : product;
        }
    }
    return true;
}

inline int warpgroup_start() {
    return state.current->number / kWarpgroup * kWarpgroup;
}

/** d += a b, or d = a b; a and b are descriptors. Across: columns of b are neighbours in memory, not its depth. */
template<class A, class B, int N, bool Across>
void multiply(sums<N / 2, Sum<A>> &d, uint64_t a, uint64_t b, bool accumulate = true) {
    static_assert(N % (sizeof(A) == 1 && N > 32 ? 16 : 8) == 0 && N >= 8 && N <= 256, "the columns of an instruction");
    static_assert(sizeof(A) == sizeof(B), "operands of an instruction");
    begin_extension();
    ProductArgument p = {&d, a, b, {}, accumulate};
    together("wgmma", warpgroup_start(), kWarpgroup, &p, multiply_together<A, B, N, Across, false>);
}

/** The same with a in registers: rows as those of the sums; in 4 bytes of neighbours along the depth, at 4 (lane % 4)
 * bytes of the first eight rows, of the next, and of both 16 bytes further along. */
template<class A, class B, int N, bool Across>
void multiply(sums<N / 2, Sum<A>> &d, const uint32_t *a, uint64_t b, bool accumulate = true) {
    begin_extension();
    ProductArgument p = {&d, 0, b, {a[0], a[1], a[2], a[3]}, accumulate};
    together("wgmma", warpgroup_start(), kWarpgroup, &p, multiply_together<A, B, N, Across, true>);
}

/** A line of a matrix, and what a lane has of four matrices. */
struct MatricesArgument {
    SharedAccess line;
    uint32_t m[4];
};

template<bool Across>
bool store_matrices_together(Thread *lanes) {
    Thread *const last = state.current;
    for (int lane = 0; lane < kWarp; lane++) {
        const int of_line = lane % 8;
        uint16_t line[8];
        for (int i = 0; i < 8; i++) {
            const int row = Across ? i : of_line, column = Across ? of_line : i;
            const uint32_t two = argument_of<MatricesArgument>(lanes[row * 4 + column / 2]).m[lane / 8];
            line[i] = uint16_t(column % 2 ? two >> 16 : two);
        }
        state.current = &lanes[lane];
        write_shared(argument_of<MatricesArgument>(lanes[lane]).line, line);
    }
    state.current = last;
    return true;
}

template<bool Across, class T>
void store_matrices_of(const shared<T> &line, uint32_t m0, uint32_t m1, uint32_t m2, uint32_t m3) {
    begin_extension();
    MatricesArgument m = {line.access(16, 16), {m0, m1, m2, m3}};
    together("stmatrix", state.current->number / kWarp * kWarp, kWarp, &m, store_matrices_together<Across>);
}

// Registers of the block that no thread has.
inline int free_registers = 0;

inline bool change_registers(Thread *threads) {
    const int wanted = *static_cast<int *>(threads[0].argument), had = async_threads[threads[0].number].registers;
    if ((wanted - had) * kWarpgroup > free_registers) {
        return false;  // until others give theirs back
    }
    free_registers -= (wanted - had) * kWarpgroup;
    for (int t = 0; t < kWarpgroup; t++) {
        async_threads[threads[t].number].registers = wanted;
    }
    return true;
}

constexpr const char *kRegistersMore = "registers_more", *kRegistersLess = "registers_less";

/** Warpgroups that wait for registers which are there now. */
inline bool advance_registers() {
    for (int first = 0; first + kWarpgroup <= state.thread_count; first += kWarpgroup) {
        Thread *const threads = state.threads + first;
        bool all = true;
        for (int t = 0; t < kWarpgroup && all; t++) {
            all = threads[t].state == Thread::waits && threads[t].operation == kRegistersMore;
        }
        if (all && change_registers(threads)) {
            for (int t = 0; t < kWarpgroup; t++) {
                threads[t].state = Thread::ready;
                threads[t].object = -1;
            }
            return true;
        }
    }
    return false;
}

template<int Count>
void set_registers(const char *operation) {
    static_assert(Count % 8 == 0 && Count >= 24 && Count <= 256, "24 to 256, in steps of 8");
    begin_extension();
    const int had = async_thread().registers;
    if (operation == kRegistersMore ? Count < had : Count > had) {
        fail("%s<%d>: a thread has %d registers", operation, Count, had);
    }
    int wanted = Count;
    together(operation, warpgroup_start(), kWarpgroup, &wanted, change_registers);
}

inline void check_products_done() {
    for (int t = 0; t < state.thread_count; t++) {
        const AsyncThread &a = async_threads[t];
        if (a.open_group || a.groups_waited < a.groups) {
            const ThreadName name(t);
            report("the block ends while the tensor cores are still at work for thread %s: %s is missing", name.text,
                   a.open_group ? "wgmma_commit()" : "wgmma_wait");
            return;
        }
    }
}

}  // namespace emulator

template<class T>
uint32_t shared_address(const shared<T> &p) {
    return uint32_t(p.address());
}

template<int Count>
void registers_less() {
    emulator::set_registers<Count>(emulator::kRegistersLess);
}
template<int Count>
void registers_more() {
    emulator::set_registers<Count>(emulator::kRegistersMore);
}

inline void wgmma_fence() {
    emulator::begin_extension();
    emulator::async_thread().register_fences++;
}
inline void wgmma_commit() {
    emulator::begin_extension();
    emulator::async_thread().groups++;
    emulator::async_thread().open_group = false;
}
inline uint32_t no_bits() {
    return 0;
}
template<int Count>
void replace_registers(uint32_t (&rows)[Count], const uint32_t (&next)[Count], uint32_t) {
    for (int i = 0; i < Count; i++) {
        rows[i] = next[i];
    }
}
/** Until at most so many groups are still under way. */
template<int Groups>
void wgmma_wait() {
    using namespace emulator;
    begin_extension();
    AsyncThread &me = async_thread();
    if (me.groups >= Groups + me.groups_waited) {
        me.groups_waited = me.groups - Groups;
        const int thread = state.current->number;
        knowledge(thread)[column(kFirstAgent + kMaxBarriers + thread / kWarpgroup)] = me.groups_waited;
    }
}

/** Four 8x8 matrices of 16-bit elements, two neighbours of each in a register, to the lines whose addresses the lanes
 * name; `_across`: a column to a line. */
template<class T>
void store_matrices(const shared<T> &line, uint32_t m0, uint32_t m1, uint32_t m2, uint32_t m3) {
    emulator::store_matrices_of<false>(line, m0, m1, m2, m3);
}
template<class T>
void store_matrices_across(const shared<T> &line, uint32_t m0, uint32_t m1, uint32_t m2, uint32_t m3) {
    emulator::store_matrices_of<true>(line, m0, m1, m2, m3);
}

}  // namespace halyard

#endif
