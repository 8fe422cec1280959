// What kernels of block programs (tiles/block_kernel.cpp) stand on beside ampere_fused.h, or hopper.h: barriers between warps that
// fetch tiles and warps that multiply them.

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
