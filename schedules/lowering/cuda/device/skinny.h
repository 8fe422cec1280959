// What kernels for tiles of few rows stand on beside ampere.h, on sm_90a too: each warp multiplies a slice of the depth of a step,
// 32 bytes of it, for the whole tile.

namespace halyard {

/** Where chunk `chunk` of a line of so many bytes lies, as TMA swizzles lines of 64 or 128; in chunks. */
template<int Bytes>
__device__ __forceinline__ int swizzled_chunk(int line, int chunk) {
    return Bytes == 128 ? line * 8 + (chunk ^ (line % 8)) : line * 4 + (chunk ^ (line / 2 % 4));
}

/** From a tile whose `Lines` rows, or columns, run along the depth, 128 bytes in each of the blocks that follow one another:
 * what multiply_fragments() takes of the rows .. */
template<int Lines, int Count, class T>
__device__ __forceinline__ void load_slice_of_rows(uint32_t (&a)[Count], shared<T> tile, int slice) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < Count / 4; i++) {
        const int chunk = swizzled_chunk<128>(i * 16 + lane % 16, slice % 4 * 2 + lane / 16);
        load_matrices(a + i * 4, place_in_shared<T>(tile) + (slice / 4 * Lines * 8 + chunk) * of_chunk<T>);
    }
}
/** .. and of columns. */
template<int Lines, int Count, class T>
__device__ __forceinline__ void load_slice_of_columns(uint32_t (&b)[Count], shared<T> tile, int slice) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < Count / 4; j++) {
        const int chunk = swizzled_chunk<128>(j * 16 + lane / 16 * 8 + lane % 8, slice % 4 * 2 + lane / 8 % 2);
        load_matrices(b + j * 4, place_in_shared<T>(tile) + (slice / 4 * Lines * 8 + chunk) * of_chunk<T>);
    }
}
/** .. and of columns that are neighbours, in blocks of lines of so many bytes, one for each of the depth. */
template<int Bytes, int Depth, int Count, class T>
__device__ __forceinline__ void load_slice_of_columns_across(uint32_t (&b)[Count], shared<T> tile, int slice) {
    constexpr int chunks = Bytes / 16;  // of a line
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < Count / 4; j++) {
        const int across = j * 2 + lane / 16, block = across / chunks;
        const int chunk = swizzled_chunk<Bytes>(slice * 16 + lane % 16, across % chunks);
        load_matrices_across(b + j * 4, place_in_shared<T>(tile) + (block * Depth * chunks + chunk) * of_chunk<T>);
    }
}

/** The sums of each warp's slices: rows in shared memory, with a gap that has neighbouring rows in different banks. */
template<int Columns>
constexpr int pitch_of_slice = Columns + 8;
template<int Rows, int Columns, class T, int Count>
__device__ __forceinline__ void give_slice(T (&part)[Count], shared<T> to) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < Count; i += 2) {
        const int row = warp * Rows + i / (Columns / 2) * 16 + i / 2 % 2 * 8 + lane / 4;
        store(to + (row * pitch_of_slice<Columns> + i % (Columns / 2) / 4 * 8 + lane % 4 * 2), load_registers<2>(part + i));
    }
}
/** Adds them to the sums of pairs that a thread has, those with its number and every `Threads` on; in the order of the warps. */
template<int Rows, int Columns, int Threads, class T, int Count>
__device__ __forceinline__ void add_slices(T (&own)[Count], shared<T> from) {
#pragma unroll
    for (int i = 0; i < Count; i += 2) {
        const int pair = i / 2 * Threads + threadIdx.x;
        if (Rows * Columns / 2 % Threads == 0 || pair < Rows * Columns / 2) {
            const int place = pair / (Columns / 2) * pitch_of_slice<Columns> + pair % (Columns / 2) * 2;
#pragma unroll
            for (int warp = 0; warp < Threads / 32; warp++) {
                const vec<T, 2> two = load<2>(from + (warp * Rows * pitch_of_slice<Columns> + place));
                own[i] = own[i] + two[0];
                own[i + 1] = own[i + 1] + two[1];
            }
        }
    }
}

/** Adds to the sums of a warp what it has of 16 columns by 8 rows in registers, and gives those of the thread: four neighbours of the depth of
 * columns 2 (lane / 4) and the next, and of row lane / 4; sums of rows 2 (lane % 4) and the next by these columns. */
template<class T>
__device__ __forceinline__ vec<float, 4> multiply_in_warp(const vec<T, 4> &first, const vec<T, 4> &second, const vec<T, 4> &row, float s0,
                                                          float s1, float s2, float s3) {
    union Pairs {
        vec<T, 4> four;
        uint32_t pair[2];
    };
    const Pairs one{first}, other{second}, of_row{row};
    const uint32_t columns[4] = {one.pair[0], other.pair[0], one.pair[1], other.pair[1]}, rows[2] = {of_row.pair[0], of_row.pair[1]};
    float sums[4] = {s0, s1, s2, s3};
    multiply_fragments<T, T>(sums, columns, rows);
    return {{sums[0], sums[1], sums[2], sums[3]}};
}

}  // namespace halyard
