// What printed kernels stand on. This text, with the parts that it includes, comes before every kernel: NVRTC compiles it for
// the device, and the system compiler, with HALYARD_EMULATOR, for the host, where emulator.h checks every access. No other
// header.

#ifdef HALYARD_EMULATOR
#include "emulator/emulator.h"
#else

using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long long;
using uint64_t = unsigned long long;

extern __shared__ __align__(1024) unsigned char halyard_shared_memory[];

namespace halyard {

/** An array in device memory that nothing else points into. */
template<class T>
using global = T *__restrict__;

/** The same of which loads stay behind the wait for the last kernel, where that stands in a kernel's midst. Of an array that is said to be nobody
 * else's, and that the kernel does not write, the compiler moves them over it. */
template<class T>
using global_in_order = T *;

/** An array in the shared memory of the block. */
template<class T>
using shared = T *;

template<class T>
__device__ __forceinline__ T *shared_array(int offset_in_bytes, int) {
    return reinterpret_cast<T *>(halyard_shared_memory + offset_in_bytes);
}

__device__ __forceinline__ float half_bits_to_float(uint16_t h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}

__device__ __forceinline__ uint16_t float_to_half_bits(float f) {
    uint16_t h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

/** Two at once: `low` goes to the lower address. */
__device__ __forceinline__ uint32_t floats_to_half_bits(float low, float high) {
    uint32_t h;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(high), "f"(low));
    return h;
}

__device__ __forceinline__ uint16_t float_to_bfloat16_bits(float f) {
    uint16_t h;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

__device__ __forceinline__ uint32_t floats_to_bfloat16_bits(float low, float high) {
    uint32_t h;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(high), "f"(low));
    return h;
}

/** 2^x, 2 units in the last place; subnormal results become 0. */
__device__ __forceinline__ float exp2_approx(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/** After a kernel: its name, and those of its parameters for messages of the emulator. NVRTC needs neither. */
#define HALYARD_KERNEL(...)
#define HALYARD_KERNEL_OF_CLUSTER(...)

}  // namespace halyard

#endif

#include "device/numbers.h"
#include "device/vectors.h"
#include "device/memory.h"
#ifndef HALYARD_EMULATOR
#include "device/copies.h"
#endif
#include "device/threads.h"
