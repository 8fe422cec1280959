// What kernels for sm_80 and all later ones but sm_90a stand on beside device.h: ldmatrix, mma.sync, and tiles in
// shared memory that cp.async fills. The instructions: PTX ISA 7.4 and later, "Matrix multiply-accumulate operation using
// mma instruction" and "Data Movement".

#define HALYARD_AMPERE

#ifdef HALYARD_EMULATOR
#include "emulator/ampere.h"
#else

namespace halyard {

/** A place in shared memory by its address: what is added to it is a constant of the instructions, where it is one. With
 * pointers the compiler keeps each sum in a register of its own. */
template<class T>
struct place_in_shared {
    uint32_t address;
    __device__ __forceinline__ place_in_shared(const T *p) : address(address_in_shared(p)) {}
    __device__ __forceinline__ explicit place_in_shared(uint32_t address) : address(address) {}
    __device__ __forceinline__ place_in_shared operator+(int elements) const {
        return place_in_shared(address + elements * int(sizeof(T)));
    }
};

/** Four matrices of 8 lines, 16 bytes each, whose addresses the lanes name: a lane gets four bytes of each, of line
 * lane / 4. `_across`: two elements of 16 bits, of column lane / 4 in place of the line. */
template<class T>
__device__ __forceinline__ void load_matrices(uint32_t *m, place_in_shared<T> line) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(line.address)
                 : "memory");
}
template<class T>
__device__ __forceinline__ void load_matrices_across(uint32_t *m, place_in_shared<T> line) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
                 : "r"(line.address)
                 : "memory");
}
/** 16 bytes, or as many zeros. */
template<class T>
__device__ __forceinline__ void copy_chunk(place_in_shared<T> to, const T *from) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to.address), "l"(from) : "memory");
}
template<class T>
__device__ __forceinline__ void copy_chunk_if(place_in_shared<T> to, const T *from, bool condition) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to.address), "l"(from), "r"(condition ? 16 : 0) : "memory");
}

#define HALYARD_MMA(A, B, SUM, SHAPE, CONSTRAINT)                                                                                          \
    __device__ __forceinline__ void mma(A, B, SUM *d, const uint32_t *a, const uint32_t *b) {                                              \
        asm volatile("mma.sync.aligned." SHAPE " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                          \
                     : CONSTRAINT(d[0]), CONSTRAINT(d[1]), CONSTRAINT(d[2]), CONSTRAINT(d[3])                                              \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                                                  \
    }
HALYARD_MMA(half, half, float, "m16n8k16.row.col.f32.f16.f16.f32", "+f")
HALYARD_MMA(bfloat16, bfloat16, float, "m16n8k16.row.col.f32.bf16.bf16.f32", "+f")
HALYARD_MMA(float, float, float, "m16n8k8.row.col.f32.tf32.tf32.f32", "+f")
HALYARD_MMA(int8_t, int8_t, int32_t, "m16n8k32.row.col.s32.s8.s8.s32", "+r")
HALYARD_MMA(int8_t, uint8_t, int32_t, "m16n8k32.row.col.s32.s8.u8.s32", "+r")
HALYARD_MMA(uint8_t, int8_t, int32_t, "m16n8k32.row.col.s32.u8.s8.s32", "+r")
HALYARD_MMA(uint8_t, uint8_t, int32_t, "m16n8k32.row.col.s32.u8.u8.s32", "+r")

// The instructions of sm_90 add up such products exactly; those of other devices are not known to.
#if __CUDA_ARCH__ == 900
HALYARD_MMA(e4m3, e4m3, float, "m16n8k32.row.col.f32.e4m3.e4m3.f32", "+f")
HALYARD_MMA(e4m3, e5m2, float, "m16n8k32.row.col.f32.e4m3.e5m2.f32", "+f")
HALYARD_MMA(e5m2, e4m3, float, "m16n8k32.row.col.f32.e5m2.e4m3.f32", "+f")
HALYARD_MMA(e5m2, e5m2, float, "m16n8k32.row.col.f32.e5m2.e5m2.f32", "+f")
#else
/** Four numbers of 8 bits as float16, exact: the first two, or the last two. An e4m3 has the exponent of a float16 that is 256 times less,
 * and its NaN is one more than the largest number. */
__device__ __forceinline__ uint32_t halves_of(e5m2, uint32_t four, int last) {
    return __byte_perm(four, 0, last ? 0x3424 : 0x1404);
}
__device__ __forceinline__ uint32_t halves_of(e4m3, uint32_t four, int last) {
    const uint32_t two = __byte_perm(four, 0, last ? 0x3424 : 0x1404);
    const uint32_t magnitude = (two & 0x7f007f00u) >> 1, nan = (magnitude + 0x00800080u) & 0x40004000u;
    uint32_t number;
    asm("mul.f16x2 %0, %1, %2;" : "=r"(number) : "r"((two & 0x80008000u) | magnitude | nan), "r"(0x5c005c00u));
    return number;
}

/** Neighbours along the depth stand apart in an instruction of float16, as those of the other operand do. */
template<class A, class B>
__device__ __forceinline__ void multiply_float8(float *d, const uint32_t *a, const uint32_t *b) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const uint32_t of_a[4] = {halves_of(A(), a[i * 2], 0), halves_of(A(), a[i * 2 + 1], 0), halves_of(A(), a[i * 2], 1),
                                  halves_of(A(), a[i * 2 + 1], 1)};
        const uint32_t of_b[2] = {halves_of(B(), b[i], 0), halves_of(B(), b[i], 1)};
        mma(half(), half(), d, of_a, of_b);
    }
}
__device__ __forceinline__ void mma(e4m3, e4m3, float *d, const uint32_t *a, const uint32_t *b) {
    multiply_float8<e4m3, e4m3>(d, a, b);
}
__device__ __forceinline__ void mma(e4m3, e5m2, float *d, const uint32_t *a, const uint32_t *b) {
    multiply_float8<e4m3, e5m2>(d, a, b);
}
__device__ __forceinline__ void mma(e5m2, e4m3, float *d, const uint32_t *a, const uint32_t *b) {
    multiply_float8<e5m2, e4m3>(d, a, b);
}
__device__ __forceinline__ void mma(e5m2, e5m2, float *d, const uint32_t *a, const uint32_t *b) {
    multiply_float8<e5m2, e5m2>(d, a, b);
}
#endif
#undef HALYARD_MMA

/** sums += a b, 32 bytes deep, for the part of a tile that a warp has: 16 rows for four registers of a, by 8 columns for
 * two of b. Of each 16 by 8 sums a lane has those of columns 2 (lane % 4) and the next, in rows lane / 4 and 8 below.
 * Before the products of each 16 rows meanwhile(i) is called: what it loads is under way while they are done. */
template<class A, class B, class Sum, int Sums, int RegistersA, int RegistersB, class Meanwhile>
__device__ __forceinline__ void multiply_fragments(Sum (&sums)[Sums], const uint32_t (&a)[RegistersA], const uint32_t (&b)[RegistersB],
                                                   Meanwhile meanwhile) {
    static_assert(Sums == RegistersA / 4 * (RegistersB / 2) * 4, "a sum for each row and column");
#pragma unroll
    for (int i = 0; i < RegistersA / 4; i++) {
        meanwhile(i);
#pragma unroll
        for (int n = 0; n < RegistersB / 2; n++) {
            const int j = i % 2 ? RegistersB / 2 - 1 - n : n;  // back and forth: what was read last is read again
            mma(A(), B(), sums + (i * (RegistersB / 2) + j) * 4, a + i * 4, b + j * 2);
        }
    }
}

template<class A, class B, class Sum, int Sums, int RegistersA, int RegistersB>
__device__ __forceinline__ void multiply_fragments(Sum (&sums)[Sums], const uint32_t (&a)[RegistersA], const uint32_t (&b)[RegistersB]) {
    multiply_fragments<A, B>(sums, a, b, [](int) {});
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
    __device__ __forceinline__ explicit chunk_along_depth(int number) : x(number % 4), y(number / 4), place(along_depth(y, x)) {}
    static constexpr int count = Lines * 4;
    /** Of `stride` elements between lines: how far chunk number + more is from chunk `number`. */
    static __device__ __forceinline__ int further(int more, int stride, int) {
        return more / 4 * stride;
    }
};
/** And of one whose lines run across; neighbours in memory are together in a block. */
template<int Columns>
struct chunk_across_columns {
    int x, y, place;
    __device__ __forceinline__ explicit chunk_across_columns(int number)
        : x(number / (8 * stage_depth) * 8 + number % 8), y(number / 8 % stage_depth), place(across_columns(y, x)) {}
    static constexpr int count = Columns / 8 * stage_depth;
    static __device__ __forceinline__ int further(int more, int stride, int chunk) {
        return more / 8 % stage_depth * stride + more / (8 * stage_depth) * 8 * chunk;
    }
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

/** What a thread fetches of tiles that lie in a matrix: where its chunks are, there and in a stage, found once. */
template<class Chunk, int Threads, class T>
struct chunks_of_thread {
    static_assert(Chunk::count % Threads == 0 && (8 * stage_depth % Threads == 0 || Threads % (8 * stage_depth) == 0),
                  "the chunks of a thread are as far apart for all threads");
    global<const T> from;
    int stride, place;

    __device__ __forceinline__ chunks_of_thread(const matrix<T> &m, int c0, int c1) : chunks_of_thread(m, c0, c1, Chunk(threadIdx.x)) {}
    /** Chunk i of the thread, of a tile that begins `further` elements behind the first one. */
    __device__ __forceinline__ void fetch(int i, place_in_shared<T> stage, int further) const {
        copy_chunk(stage + (place + i * Threads * of_chunk<T>), from + (further + Chunk::further(i * Threads, stride, of_chunk<T>)));
    }

private:
    __device__ __forceinline__ chunks_of_thread(const matrix<T> &m, int c0, int c1, const Chunk &chunk)
        : from(m.elements + (c0 + chunk.x * of_chunk<T> + (c1 + chunk.y) * m.stride)), stride(m.stride), place(chunk.place * of_chunk<T>) {}
};

/** How many tiles from c0, c1 on lie in a matrix, one after the other along its first dimension (0) or its second. */
template<int Along, class T>
__device__ __forceinline__ int tiles_inside(const matrix<T> &m, int c0, int c1, int lines_0, int lines_1) {
    const bool inside = c0 >= 0 && c1 >= 0 && (Along == 0 ? c1 + lines_1 <= m.extent_1 : c0 + lines_0 <= m.extent_0);
    return !inside ? 0 : Along == 0 ? (m.extent_0 - c0) / lines_0 : (m.extent_1 - c1) / lines_1;
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
__device__ __forceinline__ int line_of_box(const tensor<T, Rank> &t, const tensor_box<Rank> &box, const tensor_place<Rank> &origin,
                                           int number, bool &inside) {
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

/** Where the line of a tile begins that a lane names to load_matrices, found once, for fragments as multiply_fragments takes
 * them: of 16 rows from `row` on, .. */
template<class T>
__device__ __forceinline__ int place_of_rows(int row) {
    const int lane = threadIdx.x % 32;
    return along_depth(row + lane % 16, lane / 16) * of_chunk<T>;
}
/** .. of 16 columns that run along the depth; `number` times 16 lines further, in the second half of the depth or not; .. */
template<class T>
__device__ __forceinline__ int place_of_columns(int column) {
    const int lane = threadIdx.x % 32;
    return along_depth(column + lane / 16 * 8 + lane % 8, lane / 8 % 2) * of_chunk<T>;
}
template<class T>
__device__ __forceinline__ int place_along_depth(int place, int number, int half_of_depth) {
    return (place ^ half_of_depth * 2 * of_chunk<T>)+number * 64 * of_chunk<T>;
}
/** .. and of columns that are neighbours. */
template<class T>
__device__ __forceinline__ int place_of_columns_across(int column) {
    const int lane = threadIdx.x % 32;
    return across_columns(lane % 16, column / of_chunk<T> + lane / 16) * of_chunk<T>;
}
template<class T>
__device__ __forceinline__ int place_across_columns(int place, int half_of_depth) {
    return place + half_of_depth * 128 * of_chunk<T>;
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

}  // namespace halyard
