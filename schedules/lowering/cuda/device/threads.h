// What threads do together: atomic updates, barriers, reductions.

namespace halyard {

/** The next kernel of the stream may begin, as far as it can without what this one makes (sm_90). */
__device__ __forceinline__ void start_next() {
#if !defined(HALYARD_EMULATOR) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}
/** Until the last kernel of the stream has ended, if this one began before, and what it stored can be seen. */
__device__ __forceinline__ void wait_for_last() {
#if !defined(HALYARD_EMULATOR) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
/** The line at p comes into the L2 cache, as what waits for nothing may ask for. */
template<class P>
__device__ __forceinline__ void prefetch_l2(P p) {
#ifdef HALYARD_EMULATOR
    (void)p;
#else
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
#endif
}

#ifndef HALYARD_EMULATOR

/** Of floats, which have no instruction of their own. */
template<class F>
__device__ __forceinline__ float atomic_update(float *p, F f) {
    int old = __float_as_int(*p), seen;
    do {
        seen = old;
        old = atomicCAS(reinterpret_cast<int *>(p), seen, __float_as_int(f(__int_as_float(seen))));
    } while (old != seen);
    return __int_as_float(old);
}
__device__ __forceinline__ float atomicMax(float *p, float v) {
    return atomic_update(p, [=](float x) { return fmaxf(x, v); });
}
__device__ __forceinline__ float atomicMin(float *p, float v) {
    return atomic_update(p, [=](float x) { return fminf(x, v); });
}
using ::atomicAdd;
using ::atomicMax;
using ::atomicMin;

/** Where a barrier is called: the emulator compares that between threads. */
struct place {};

__device__ __forceinline__ void __syncthreads(place) {
    ::__syncthreads();
}
using ::__syncthreads;
#endif

struct add {
    template<class T>
    __device__ __forceinline__ T operator()(T a, T b) const {
        return a + b;
    }
};
struct multiply {
    template<class T>
    __device__ __forceinline__ T operator()(T a, T b) const {
        return a * b;
    }
};
struct take_min {
    template<class T>
    __device__ __forceinline__ T operator()(T a, T b) const {
        return minimum(a, b);
    }
};
struct take_max {
    template<class T>
    __device__ __forceinline__ T operator()(T a, T b) const {
        return maximum(a, b);
    }
};

/** Reduces the values that `Lanes` threads with neighbouring threadIdx.x have; all of them get the result.
 * Every thread of the block takes part, and their number is a multiple of 32. `Lanes` is a power of two; above
 * 32 it is all of blockDim.x, and `scratch` has an element for each warp of the block. The result is the same
 * in every lane to the bit, as each step adds the same two numbers. */
template<class Op, int Lanes, class T>
__device__ __forceinline__ T reduce_threads(T value, shared<T> scratch, place here = place()) {
    const Op op;
    constexpr int kInWarp = Lanes < 32 ? Lanes : 32;
#pragma unroll
    for (int offset = kInWarp / 2; offset > 0; offset /= 2) {
        value = op(value, __shfl_xor_sync(0xffffffffu, value, offset));
    }
    if (Lanes > 32) {
        constexpr int kWarps = Lanes / 32 > 0 ? Lanes / 32 : 1;
        const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        const int warp = thread / 32, lane = thread % 32;
        if (lane == 0) {
            scratch[warp] = value;
        }
        __syncthreads(here);
        value = scratch[warp / kWarps * kWarps + lane % kWarps];
#pragma unroll
        for (int offset = kWarps / 2; offset > 0; offset /= 2) {
            value = op(value, __shfl_xor_sync(0xffffffffu, value, offset));
        }
    }
    return value;
}

}  // namespace halyard
