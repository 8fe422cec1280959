// What kernels of block programs (tiles/block_kernel.cpp) stand on beside ampere_fused.h, or hopper.h: barriers between warps that
// fetch tiles and warps that multiply them, and products of the tiles by mma.sync. Tiles are as ampere_fused.h has them.

#ifndef HALYARD_EMULATOR

namespace halyard {

#if __CUDA_ARCH__ < 900 || !defined(HALYARD_HOPPER)
/** An mbarrier, as hopper.h has it, of threads alone: PTX ISA 7.0, "Parallel Synchronization and Communication Instructions". */
__device__ __forceinline__ void barrier_init(uint64_t *b, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address_in_shared(b)), "r"(count) : "memory");
}
__device__ __forceinline__ void barriers_ready() {}
__device__ __forceinline__ void barrier_arrive(uint64_t *b) {
    asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(address_in_shared(b)) : "memory");
}
__device__ __forceinline__ void barrier_wait(uint64_t *b, int parity) {
    asm volatile(
        "{\n.reg .pred done;\nwait: mbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n@done bra ended;\nbra wait;\nended:\n}" ::"r"(
            address_in_shared(b)),
        "r"(parity)
        : "memory");
}
#endif

/** The thread arrives when what it has asked for by cp.async has come. */
__device__ __forceinline__ void copies_arrive(uint64_t *b) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address_in_shared(b)) : "memory");
}

}  // namespace halyard

#else

namespace halyard {

inline void copies_arrive(const shared<uint64_t> &b) {
    copy_async_wait_all();
    barrier_arrive(b);
}

}  // namespace halyard

#endif

namespace halyard {

/** Columns of b, of a product's n-th 16 steps of the depth: four registers for 16 columns from `first` on. */
template<class T, int Columns, int Depth, bool Across>
__device__ __forceinline__ void load_columns(uint32_t (&m)[4], place_in_shared<T> b, int step, int first) {
    if (Across) {
        load_matrices_across(m, b + ((first / 64 * Depth + step * 16) * 64 + (line_of_rows() ^ first / 16 % 4 * 16)));
    } else {
        load_matrices(m, b + ((step / 4 * Columns + first) * 64 + (line_of_columns() ^ step % 4 * 16)));
    }
}

/** sums += a b, for the rows of a warp, with which `a` begins, of a tile of `Lines`. */
template<class T, int Fragments, int Lines, int Columns, int Depth, bool Across, int Sums>
__device__ __forceinline__ void multiply_shared(float (&sums)[Sums], shared<T> a_tile, shared<T> b_tile) {
    const place_in_shared<T> a = a_tile, b = b_tile;
    const int row = line_of_rows();
    multiply_ahead<T, Fragments, Columns, Depth>(
        sums,
        [&](uint32_t(&m)[Fragments * 4], int step) {
#pragma unroll
            for (int f = 0; f < Fragments; f++) {
                load_matrices(m + f * 4, a + ((step / 4 * Lines + f * 16) * 64 + (row ^ step % 4 * 16)));
            }
        },
        [&](uint32_t(&m)[4], int step, int first) { load_columns<T, Columns, Depth, Across>(m, b, step, first); });
}

/** And for rows in registers, as multiply_fragments takes them. */
template<class T, int Fragments, int Lines, int Columns, int Depth, bool Across, int Sums, int Registers>
__device__ __forceinline__ void multiply_held(float (&sums)[Sums], const uint32_t (&a)[Registers], shared<T> b_tile) {
    const place_in_shared<T> b = b_tile;
    static_assert(Registers == Fragments * Depth / 4, "two elements in a register");
    multiply_ahead<T, Fragments, Columns, Depth>(
        sums,
        [&](uint32_t(&m)[Fragments * 4], int step) {
#pragma unroll
            for (int i = 0; i < Fragments * 4; i++) {
                m[i] = a[i / 4 * (Depth / 4) + step * 4 + i % 4];
            }
        },
        [&](uint32_t(&m)[4], int step, int first) { load_columns<T, Columns, Depth, Across>(m, b, step, first); });
}

}  // namespace halyard
