// What kernels with two fused products for sm_80 (mma_fused.cpp) stand on beside ampere.h. Tiles in shared memory are
// panels of 64 elements of 16 bits, one after the other: lines of 128 bytes, swizzled.

namespace halyard {

/** `Lines` lines of a tensor into a tile, `Chunks` chunks of each, by so many threads, of which this is one: from line `first` on, of the lines that
 * begin at `from` and are `stride` apart. `whole`: all of them count; else those that inside(line of the tile) says, and the
 * others come as 0. */
template<int Lines, int Chunks, int Threads, class T, class Inside>
__device__ __forceinline__ void fetch_lines(shared<T> to, global<const T> from, int stride, int first, bool whole, int thread,
                                            Inside inside) {
    constexpr int count = Lines * Chunks, turns = (count + Threads - 1) / Threads;
    constexpr bool even = Threads % Chunks == 0;  // each turn begins with a line, `of_turn` further on
    constexpr int of_turn = even ? Threads / Chunks : 1;
    constexpr bool same_banks = even && of_turn % 8 == 0;  // then its places are those of the first, further on
    const auto line_of = [&](int i) { return even ? thread / Chunks + i * of_turn : (i * Threads + thread) / Chunks; };
    const auto place_of = [&](int line, int chunk) { return (chunk / 8 * Lines + line) * 64 + ((chunk ^ line) % 8) * 8; };
    const int chunk_of_thread = thread % Chunks, index_of_thread = (first + thread / Chunks) * stride + chunk_of_thread * 8;
    const auto start = place_in_shared<T>(to) + place_of(thread / Chunks, chunk_of_thread);
    const auto copy = [&](int i, bool valid) {
        const int number = i * Threads + thread, line = line_of(i), chunk = even ? chunk_of_thread : number % Chunks;
        if (count % Threads == 0 || number < count) {
            const int index = even ? index_of_thread + i * of_turn * stride : (first + line) * stride + chunk * 8;
            const auto there = same_banks ? start + i * of_turn * 64 : place_in_shared<T>(to) + place_of(line, chunk);
            if (whole) {
                copy_chunk(there, from + index);
            } else {
                copy_chunk_if(there, from + (valid ? index : 0), valid);
            }
        }
    };
    if (whole) {
#pragma unroll
        for (int i = 0; i < turns; i++) {
            copy(i, true);
        }
    } else {
#pragma unroll
        for (int i = 0; i < turns; i++) {
            copy(i, inside(line_of(i)));
        }
    }
}

/** Elements of a line of 128 bytes, of which an instruction multiplies a quarter. */
template<class T>
constexpr int of_line = 8 * of_chunk<T>;

/** Where the line begins that a lane names to load_matrices: of 16 rows and 32 bytes of their depth, or of 16 steps of the
 * depth and 16 columns across; .. */
template<class T>
__device__ __forceinline__ int line_of_rows() {
    const int lane = threadIdx.x % 32, line = lane % 16;
    return line * of_line<T> + ((lane / 16) ^ (line % 8)) * of_chunk<T>;
}
/** .. and of 16 columns that run along the depth. What lies 32 n bytes further is at its place ^ 2 n chunks. */
template<class T>
__device__ __forceinline__ int line_of_columns() {
    const int lane = threadIdx.x % 32, line = lane / 16 * 8 + lane % 8;
    return line * of_line<T> + ((lane / 8 % 2) ^ (line % 8)) * of_chunk<T>;
}

/** Of sums of `Fragments` times 16 rows and `Columns` columns those of 16 columns, by a and b of one instruction's depth. */
template<class A, class B, int Fragments, int Columns>
__device__ __forceinline__ void multiply_columns(float *sums, int first, const uint32_t (&a)[Fragments * 4], const uint32_t (&b)[4]) {
    float part[Fragments * 8];
#pragma unroll
    for (int i = 0; i < Fragments * 8; i++) {
        part[i] = sums[i / 8 * (Columns / 2) + first / 2 + i % 8];
    }
    multiply_fragments<A, B>(part, a, b);
#pragma unroll
    for (int i = 0; i < Fragments * 8; i++) {
        sums[i / 8 * (Columns / 2) + first / 2 + i % 8] = part[i];
    }
}

/** sums += a b, so many instructions deep: load_a(registers, step) and load_b(registers, step, column) are called ahead. */
template<class A, class B, int Fragments, int Columns, int Steps, int Sums, class LoadA, class LoadB>
__device__ __forceinline__ void multiply_ahead(float (&sums)[Sums], LoadA load_a, LoadB load_b) {
    static_assert(Sums == Fragments * Columns / 2, "a sum for each row and column");
    constexpr int across = Columns / 16, turns = Steps * across, ahead = turns < 2 ? turns : 2;
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
        if (t % across == 0 && step + 1 < Steps) {
            load_a(a[(step + 1) % 2], step + 1);
        }
        multiply_columns<A, B, Fragments, Columns>(sums, t % across * 16, a[step % 2], b[t % (ahead + 1)]);
    }
}

/** Columns of b, for an instruction's depth: of a tile of `Columns` lines that run along the depth, or, across, of lines of columns. */
template<class T, int Columns, int Depth, bool Across>
__device__ __forceinline__ void load_columns(uint32_t (&m)[4], place_in_shared<T> b, int row, int column, int step, int first) {
    if (Across) {
        load_matrices_across(m, b + ((first / 64 * Depth + step * 16) * 64 + (row ^ first / 16 % 4 * 16)));
    } else {
        load_matrices(m, b + ((step / 4 * Columns + first) * of_line<T> + (column ^ step % 4 * (2 * of_chunk<T>))));
    }
}

/** The sums of a warp's rows of a tile of `Lines` lines, which `a` begins with, and the columns of b; elements are read as A and B. */
template<class A, class B, int Fragments, int Lines, int Columns, int Depth, bool Across = false, class T, int Sums>
__device__ __forceinline__ void multiply_tiles(float (&sums)[Sums], shared<T> a_tile, shared<T> b_tile) {
    const place_in_shared<T> a = a_tile, b = b_tile;
    const int row = line_of_rows<T>(), column = line_of_columns<T>();
    multiply_ahead<A, B, Fragments, Columns, Depth / (2 * of_chunk<T>)>(
        sums,
        [&](uint32_t(&m)[Fragments * 4], int step) {
#pragma unroll
            for (int f = 0; f < Fragments; f++) {
                load_matrices(m + f * 4, a + ((step / 4 * Lines + f * 16) * of_line<T> + (row ^ step % 4 * (2 * of_chunk<T>))));
            }
        },
        [&](uint32_t(&m)[4], int step, int first) { load_columns<T, Columns, Depth, Across>(m, b, row, column, step, first); });
}

/** And of rows in registers, as multiply_fragments takes them. make(n) is called before a's n-th piece of 16 steps of the depth is
 * read, and while the one before it is multiplied. */
template<class T, int Fragments, int Columns, int Depth, bool Across = true, int Sums, int Registers, class Make>
__device__ __forceinline__ void multiply_rows(float (&sums)[Sums], const uint32_t (&a)[Registers], shared<T> b_tile, Make make) {
    const place_in_shared<T> b = b_tile;
    static_assert(Registers == Fragments * Depth / 4, "two elements in a register");
    const int row = line_of_rows<T>(), column = line_of_columns<T>();
    multiply_ahead<T, T, Fragments, Columns, Depth / 16>(
        sums,
        [&](uint32_t(&m)[Fragments * 4], int step) {
            make(step);
#pragma unroll
            for (int i = 0; i < Fragments * 4; i++) {
                m[i] = a[i / 4 * (Depth / 4) + step * 4 + i % 4];
            }
        },
        [&](uint32_t(&m)[4], int step, int first) { load_columns<T, Columns, Depth, Across>(m, b, row, column, step, first); });
}
template<class T, int Fragments, int Columns, int Depth, bool Across = true, int Sums, int Registers>
__device__ __forceinline__ void multiply_rows(float (&sums)[Sums], const uint32_t (&a)[Registers], shared<T> b_tile) {
    multiply_rows<T, Fragments, Columns, Depth, Across>(sums, a, b_tile, [](int) {});
}

}  // namespace halyard
