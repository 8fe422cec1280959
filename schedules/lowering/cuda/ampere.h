// What kernels for sm_80 and all later ones but sm_90a stand on beside device.h: ldmatrix, mma.sync, and tiles in
// shared memory that cp.async fills. The instructions: PTX ISA 7.4 and later, "Matrix multiply-accumulate operation using
// mma instruction" and "Data Movement".

#define HALYARD_AMPERE

#ifdef HALYARD_EMULATOR
#include "emulator/ampere.h"
#else

namespace halyard {

/** Four matrices of 8 lines, 16 bytes each, whose addresses the lanes name: a lane gets four bytes of each, of line
 * lane / 4. `_across`: two elements of 16 bits, of column lane / 4 in place of the line. */
template<class T>
__device__ __forceinline__ void load_matrices(uint32_t *m, const T *line) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(address_in_shared(line))
                 : "memory");
}
template<class T>
__device__ __forceinline__ void load_matrices_across(uint32_t *m, const T *line) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(address_in_shared(line))
                 : "memory");
}

#define HALYARD_MMA(A, B, SUM, SHAPE, CONSTRAINT)                                                               \
    __device__ __forceinline__ void mma(A, B, SUM *d, const uint32_t *a, const uint32_t *b) {                   \
        asm volatile("mma.sync.aligned." SHAPE " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                     : CONSTRAINT(d[0]), CONSTRAINT(d[1]), CONSTRAINT(d[2]), CONSTRAINT(d[3])                   \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                       \
    }
HALYARD_MMA(half, half, float, "m16n8k16.row.col.f32.f16.f16.f32", "+f")
HALYARD_MMA(bfloat16, bfloat16, float, "m16n8k16.row.col.f32.bf16.bf16.f32", "+f")
HALYARD_MMA(int8_t, int8_t, int32_t, "m16n8k32.row.col.s32.s8.s8.s32", "+r")
HALYARD_MMA(int8_t, uint8_t, int32_t, "m16n8k32.row.col.s32.s8.u8.s32", "+r")
HALYARD_MMA(uint8_t, int8_t, int32_t, "m16n8k32.row.col.s32.u8.s8.s32", "+r")
HALYARD_MMA(uint8_t, uint8_t, int32_t, "m16n8k32.row.col.s32.u8.u8.s32", "+r")
#undef HALYARD_MMA

/** sums += a b, 32 bytes deep, for the part of a tile that a warp has: 16 rows for four registers of a, by 8 columns for
 * two of b. Of each 16 by 8 sums a lane has those of columns 2 (lane % 4) and the next, in rows lane / 4 and 8 below. */
template<class A, class B, class Sum, int Sums, int RegistersA, int RegistersB>
__device__ __forceinline__ void multiply_fragments(Sum (&sums)[Sums], const uint32_t (&a)[RegistersA],
                                                   const uint32_t (&b)[RegistersB]) {
    static_assert(Sums == RegistersA / 4 * (RegistersB / 2) * 4, "a sum for each row and column");
#pragma unroll
    for (int i = 0; i < RegistersA / 4; i++) {
#pragma unroll
        for (int n = 0; n < RegistersB / 2; n++) {
            const int j = i % 2 ? RegistersB / 2 - 1 - n : n;  // back and forth: what was read last is read again
            mma(A(), B(), sums + (i * (RegistersB / 2) + j) * 4, a + i * 4, b + j * 2);
        }
    }
}

}  // namespace halyard

#endif

namespace halyard {

/** Elements of a chunk, the 16 bytes that are copied at once. */
template<class T>
constexpr int of_chunk = 16 / int(sizeof(T));

/** A stage of the pipeline is 64 bytes deep: two instructions, and so many elements of 16 bits. */
constexpr int stage_depth = 32;

/** Which chunk of a tile it is, in lines of 128 bytes: chunks of 8 neighbouring lines are in different banks, as are
 * the 8 of a line. */
__device__ __forceinline__ int swizzled(int line, int chunk) {
    return line * 8 + (chunk ^ (line % 8));
}

/** .. of a tile whose neighbours run along the depth: two rows, or columns, in a line. */
__device__ __forceinline__ int along_depth(int row, int chunk) {
    return swizzled(row / 2, row % 2 * 4 + chunk);
}

/** .. of a tile of 16-bit elements whose neighbours run across the columns: blocks of 64, a line for each step of the
 * depth. */
__device__ __forceinline__ int across_columns(int depth, int chunk) {
    return chunk / 8 * (8 * stage_depth) + swizzled(depth, chunk % 8);
}

/** Chunk `number` of a tile with `Lines` rows, or columns, that run along the depth; a line is of 4 chunks. x counts
 * in chunks. */
template<int Lines>
struct chunk_along_depth {
    int x, y, place;
    __device__ __forceinline__ explicit chunk_along_depth(int number)
        : x(number % 4), y(number / 4), place(along_depth(y, x)) {
    }
    static constexpr int count = Lines * 4;
};
/** And of one whose lines run across; neighbours in memory are together in a block. */
template<int Columns>
struct chunk_across_columns {
    int x, y, place;
    __device__ __forceinline__ explicit chunk_across_columns(int number)
        : x(number / (8 * stage_depth) * 8 + number % 8), y(number / 8 % stage_depth), place(across_columns(y, x)) {
    }
    static constexpr int count = Columns / 8 * stage_depth;
};

/** The matrix from which a tile is fetched. */
template<class T>
struct matrix {
    global<const T> elements;
    int stride, extent_0, extent_1;  // elements; 0 is the dimension of neighbours
};

/** A tile into shared memory, as `Chunk` lays it out, from coordinates c0, c1 on: the threads of the block ask for
 * chunks that begin at multiples of 16 bytes. What lies outside of the matrix comes as 0. */
template<class Chunk, int Threads, class T>
__device__ __forceinline__ void fetch(shared<T> to, const matrix<T> &m, int c0, int c1) {
#pragma unroll
    for (int i = 0; i < (Chunk::count + Threads - 1) / Threads; i++) {
        const int number = i * Threads + threadIdx.x;
        if (Chunk::count % Threads == 0 || number < Chunk::count) {
            const Chunk chunk(number);
            const int x = c0 + chunk.x * of_chunk<T>, y = c1 + chunk.y;
            const bool inside = uint32_t(x) < uint32_t(m.extent_0) && uint32_t(y) < uint32_t(m.extent_1);
            const int valid = inside ? minimum(m.extent_0 - x, of_chunk<T>) : 0;
            copy_async_part(to + chunk.place * of_chunk<T>, m.elements + (x + y * m.stride), valid * int(sizeof(T)));
        }
    }
}

/** The same from any address, element by element, and done when the function ends. */
template<class Chunk, int Threads, class T>
__device__ __forceinline__ void fetch_elements(shared<T> to, const matrix<T> &m, int c0, int c1) {
    for (int number = threadIdx.x; number < Chunk::count; number += Threads) {
        const Chunk chunk(number);
        const int y = c1 + chunk.y;
#pragma unroll
        for (int i = 0; i < of_chunk<T>; i++) {
            const int x = c0 + chunk.x * of_chunk<T> + i;
            const bool inside = uint32_t(x) < uint32_t(m.extent_0) && uint32_t(y) < uint32_t(m.extent_1);
            to[chunk.place * of_chunk<T> + i] = inside ? m.elements[x + y * m.stride] : T(0.0f);
        }
    }
}

/** A tensor, and the box of it that a tile is: lines of neighbours, as many along each dimension but the first, and how far
 * these are apart. */
template<class T, int Rank>
struct tensor {
    global<const T> elements;
    int stride[Rank], extent[Rank];
};
template<int Rank>
struct tensor_box {
    int lines[Rank], step[Rank];
};
template<int Rank>
struct tensor_place {
    int at[Rank];
};

/** Where line `number` of a box begins, and whether it lies in the tensor. */
template<class T, int Rank>
__device__ __forceinline__ int line_of_box(const tensor<T, Rank> &t, const tensor_box<Rank> &box,
                                           const tensor_place<Rank> &origin, int number, bool &inside) {
    int place = 0;
    inside = true;
#pragma unroll
    for (int d = 1; d < Rank; d++) {
        const int at = origin.at[d] + number % box.lines[d] * box.step[d];
        number /= box.lines[d];
        inside = inside && uint32_t(at) < uint32_t(t.extent[d]);
        place += at * t.stride[d];
    }
    return place;
}

/** As for a matrix. */
template<class Chunk, int Threads, class T, int Rank>
__device__ __forceinline__ void fetch(shared<T> to, const tensor<T, Rank> &t, const tensor_box<Rank> &box,
                                      const tensor_place<Rank> &origin) {
#pragma unroll
    for (int i = 0; i < (Chunk::count + Threads - 1) / Threads; i++) {
        const int number = i * Threads + threadIdx.x;
        if (Chunk::count % Threads == 0 || number < Chunk::count) {
            const Chunk chunk(number);
            const int x = origin.at[0] + chunk.x * of_chunk<T>;
            bool inside;
            const int line = line_of_box(t, box, origin, chunk.y, inside);
            const int valid = inside && uint32_t(x) < uint32_t(t.extent[0]) ? minimum(t.extent[0] - x, of_chunk<T>) : 0;
            copy_async_part(to + chunk.place * of_chunk<T>, t.elements + (valid > 0 ? line + x : 0), valid * int(sizeof(T)));
        }
    }
}
template<class Chunk, int Threads, class T, int Rank>
__device__ __forceinline__ void fetch_elements(shared<T> to, const tensor<T, Rank> &t, const tensor_box<Rank> &box,
                                               const tensor_place<Rank> &origin) {
    for (int number = threadIdx.x; number < Chunk::count; number += Threads) {
        const Chunk chunk(number);
        bool inside;
        const int line = line_of_box(t, box, origin, chunk.y, inside);
#pragma unroll
        for (int i = 0; i < of_chunk<T>; i++) {
            const int x = origin.at[0] + chunk.x * of_chunk<T> + i;
            const bool there = inside && uint32_t(x) < uint32_t(t.extent[0]);
            to[chunk.place * of_chunk<T> + i] = there ? t.elements[line + x] : T(0.0f);
        }
    }
}

/** From a tile in shared memory, 32 bytes deep from element `depth` on, what multiply_fragments() takes: of rows from `row` on .. */
template<int Count, class T>
__device__ __forceinline__ void load_rows(uint32_t (&a)[Count], shared<T> tile, int row, int depth) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < Count / 4; i++) {
        const int chunk = along_depth(row + i * 16 + lane % 16, depth / of_chunk<T> + lane / 16);
        load_matrices(a + i * 4, tile + chunk * of_chunk<T>);
    }
}
/** .. of columns that run along the depth, .. */
template<int Count, class T>
__device__ __forceinline__ void load_columns(uint32_t (&b)[Count], shared<T> tile, int column, int depth) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < Count / 4; j++) {
        const int line = column + j * 16 + lane / 16 * 8 + lane % 8;
        load_matrices(b + j * 4, tile + along_depth(line, depth / of_chunk<T> + lane / 8 % 2) * of_chunk<T>);
    }
}
/** .. and of columns that are neighbours. */
template<int Count, class T>
__device__ __forceinline__ void load_columns_across(uint32_t (&b)[Count], shared<T> tile, int column, int depth) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < Count / 4; j++) {
        const int chunk = across_columns(depth + lane % 16, column / of_chunk<T> + j * 2 + lane / 16);
        load_matrices_across(b + j * 4, tile + chunk * of_chunk<T>);
    }
}

/** Of results in 16 columns a lane has pairs in the first eight and in the second, each in two rows, 8 apart. It gets four
 * neighbours in the one row, and four in the other: lanes with even numbers in the first eight columns. */
template<class T>
__device__ __forceinline__ void exchange_pairs(T (&p)[8]) {
    static_assert(sizeof(T) == 2, "two in a register");
    const bool odd = threadIdx.x % 2 != 0;
    uint32_t w[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        w[i] = p[i * 2].bits | uint32_t(p[i * 2 + 1].bits) << 16;
    }
#pragma unroll
    for (int row = 0; row < 2; row++) {
        const uint32_t first = w[row], second = w[2 + row];
        const uint32_t other = __shfl_xor_sync(0xffffffffu, odd ? first : second, 1);
        const uint32_t low = odd ? other : first, high = odd ? second : other;
        p[row * 4].bits = uint16_t(low);
        p[row * 4 + 1].bits = uint16_t(low >> 16);
        p[row * 4 + 2].bits = uint16_t(high);
        p[row * 4 + 3].bits = uint16_t(high >> 16);
    }
}

// ---- Chains of two products (mma_chain.cpp) ----
//
// Tiles are panels of 64 elements of 16 bits, one after the other: lines of 128 bytes, swizzled.

/** `Lines` lines of a tensor into a tile, `Chunks` chunks of each, by all threads: from line `first` on, of the lines that
 * begin at `from` and are `stride` apart. `whole`: all of them count; else those that inside(line of the tile) says, and the
 * others come as 0. */
template<int Lines, int Chunks, int Threads, class T, class Inside>
__device__ __forceinline__ void fetch_lines(shared<T> to, global<const T> from, int stride, int first, bool whole,
                                            Inside inside) {
    constexpr int count = Lines * Chunks, turns = (count + Threads - 1) / Threads;
    const int thread = threadIdx.x;
#pragma unroll
    for (int i = 0; i < turns; i++) {
        const int number = i * Threads + thread;
        if (count % Threads == 0 || number < count) {
            // Where each turn begins with a line, its lines are those of the first, further on.
            const bool even = Threads % Chunks == 0;
            const int line = even ? thread / Chunks + i * (Threads / Chunks) : number / Chunks;
            const int chunk = even ? thread % Chunks : number % Chunks;
            const int place = (chunk / 8 * Lines + line) * 64 + ((chunk ^ line) % 8) * 8;
            const bool counts = whole || inside(line);
            copy_async_part(to + place, from + (counts ? (first + line) * stride + chunk * 8 : 0), counts ? 16 : 0);
        }
    }
}

/** Where the line begins that a lane names to load_matrices: of 16 rows and 32 bytes of their depth, or of 16 steps of the
 * depth and 16 columns across; .. */
__device__ __forceinline__ int line_of_rows() {
    const int lane = threadIdx.x % 32, line = lane % 16;
    return line * 64 + ((lane / 16) ^ (line % 8)) * 8;
}
/** .. and of 16 columns that run along the depth. What lies 32 n bytes further is at its place ^ 16 n. */
__device__ __forceinline__ int line_of_columns() {
    const int lane = threadIdx.x % 32, line = lane / 16 * 8 + lane % 8;
    return line * 64 + ((lane / 8 % 2) ^ (line % 8)) * 8;
}

/** Of sums of `Fragments` times 16 rows and `Columns` columns those of 16 columns, by a and b of one instruction's depth. */
template<class T, int Fragments, int Columns>
__device__ __forceinline__ void multiply_columns(float *sums, int first, const uint32_t (&a)[Fragments * 4],
                                                 const uint32_t (&b)[4]) {
    float part[Fragments * 8];
#pragma unroll
    for (int i = 0; i < Fragments * 8; i++) {
        part[i] = sums[i / 8 * (Columns / 2) + first / 2 + i % 8];
    }
    multiply_fragments<T, T>(part, a, b);
#pragma unroll
    for (int i = 0; i < Fragments * 8; i++) {
        sums[i / 8 * (Columns / 2) + first / 2 + i % 8] = part[i];
    }
}

/** sums += a b, `Depth` deep: load_a(registers, step) and load_b(registers, step, column) are called ahead. */
template<class T, int Fragments, int Columns, int Depth, int Sums, class LoadA, class LoadB>
__device__ __forceinline__ void multiply_ahead(float (&sums)[Sums], LoadA load_a, LoadB load_b) {
    static_assert(Sums == Fragments * Columns / 2, "a sum for each row and column");
    constexpr int across = Columns / 16, turns = Depth / 16 * across, ahead = turns < 2 ? turns : 2;
    uint32_t a[2][Fragments * 4], b[ahead + 1][4];
    load_a(a[0], 0);
#pragma unroll
    for (int t = 0; t < ahead; t++) {
        load_b(b[t], t / across, t % across * 16);
    }
#pragma unroll
    for (int t = 0; t < turns; t++) {
        const int later = t + ahead, step = t / across;
        if (later < turns) {
            load_b(b[later % (ahead + 1)], later / across, later % across * 16);
        }
        if (t % across == 0 && step + 1 < Depth / 16) {
            load_a(a[(step + 1) % 2], step + 1);
        }
        multiply_columns<T, Fragments, Columns>(sums, t % across * 16, a[step % 2], b[t % (ahead + 1)]);
    }
}

/** The sums of a warp's rows of a tile, which `a` begins with, and the columns of b that run along the depth: a tile of
 * `Lines` lines, and one of `Columns`. */
template<class T, int Fragments, int Lines, int Columns, int Depth, int Sums>
__device__ __forceinline__ void multiply_tiles(float (&sums)[Sums], shared<T> a, shared<T> b) {
    const int row = line_of_rows(), column = line_of_columns();
    multiply_ahead<T, Fragments, Columns, Depth>(
        sums,
        [&](uint32_t (&m)[Fragments * 4], int step) {
#pragma unroll
            for (int f = 0; f < Fragments; f++) {
                load_matrices(m + f * 4, a + ((step / 4 * Lines + f * 16) * 64 + (row ^ step % 4 * 16)));
            }
        },
        [&](uint32_t (&m)[4], int step, int first) {
            load_matrices(m, b + ((step / 4 * Columns + first) * 64 + (column ^ step % 4 * 16)));
        });
}

/** And of rows in registers, as multiply_fragments takes them, with columns of b that are neighbours. */
template<class T, int Fragments, int Columns, int Depth, int Sums, int Registers>
__device__ __forceinline__ void multiply_rows(float (&sums)[Sums], const uint32_t (&a)[Registers], shared<T> b) {
    static_assert(Registers == Fragments * Depth / 4, "two elements in a register");
    const int row = line_of_rows();
    multiply_ahead<T, Fragments, Columns, Depth>(
        sums,
        [&](uint32_t (&m)[Fragments * 4], int step) {
#pragma unroll
            for (int i = 0; i < Fragments * 4; i++) {
                m[i] = a[i / 4 * (Depth / 4) + step * 4 + i % 4];
            }
        },
        [&](uint32_t (&m)[4], int step, int first) {
            load_matrices_across(m, b + ((first / 64 * Depth + step * 16) * 64 + (row ^ first / 16 % 4 * 16)));
        });
}

}  // namespace halyard
