// What printed kernels stand on. This text comes before every kernel: NVRTC compiles it for the device, and the
// system compiler, with HALYARD_EMULATOR, for the host, where emulator.h checks every access. No other header.

#ifdef HALYARD_EMULATOR
#include "emulator.h"
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

namespace halyard {

struct half {
    uint16_t bits;
    half() = default;
    __device__ __forceinline__ explicit half(float f)
        : bits(float_to_half_bits(f)) {
    }
    __device__ __forceinline__ explicit operator float() const {
        return half_bits_to_float(bits);
    }
};

struct bfloat16 {
    uint16_t bits;
    bfloat16() = default;
    __device__ __forceinline__ explicit bfloat16(float f)
        : bits(float_to_bfloat16_bits(f)) {
    }
    __device__ __forceinline__ explicit operator float() const {
        return __uint_as_float(uint32_t(bits) << 16);
    }
};

/** Conversion as Halide's cast has it. */
template<class To, class From>
__device__ __forceinline__ To to(From x) {
    return To(x);
}
template<>
__device__ __forceinline__ bfloat16 to<bfloat16, half>(half x) {
    return bfloat16(float(x));
}
template<>
__device__ __forceinline__ half to<half, bfloat16>(bfloat16 x) {
    return half(float(x));
}

/** e^x within 2 + |x| / 2 units in the last place; 0 below -87.3, NaN stays. softmax 16384x4096: 70 us, with expf 88 (H200). */
__device__ __forceinline__ float exp_approx(float x) {
    return exp2_approx(x * 1.44269504f);
}

#ifdef HALYARD_EMULATOR
inline float divide(float a, float b) {
    return a / b;
}
#else
/** a / b within 2 units in the last place, 0 for |b| above 2^126. The exact division has a branch in it, which keeps
 * the instructions of neighbouring elements apart: a product of 4096^3 with GELU behind it took 282 us with it, 204 without
 * (H200; the product alone 177). */
__device__ __forceinline__ float divide(float a, float b) {
    return __fdividef(a, b);
}
#endif

/** What was promised when the kernel was printed, as that an extent is enough. The emulator asks whether it holds. */
__device__ __forceinline__ void expect(bool holds) {
#ifdef HALYARD_EMULATOR
    if (!holds) {
        emulator::fail("does not find what its schedule promises");
    }
#else
    (void)holds;
#endif
}

/** Floor of a / b, 0 for b == 0; and what is left, in [0, |b|). Halide's integer division. */
template<class T>
__device__ __forceinline__ T div_floor(T a, T b) {
    if (b == 0) {
        return 0;
    }
    const T q = a / b, r = a % b;
    return r < 0 ? q - (b > 0 ? 1 : -1) : q;
}
template<class T>
__device__ __forceinline__ T mod_floor(T a, T b) {
    if (b == 0) {
        return 0;
    }
    const T r = a % b;
    return r < 0 ? r + (b > 0 ? b : -b) : r;
}

/** Floor of a / b for a >= 0 and b > 0, by what the host makes of b (host_values.h). */
__device__ __forceinline__ int divide_by(int a, uint32_t multiplier, int shift) {
    const uint32_t high = uint32_t(uint64_t(uint32_t(a)) * multiplier >> 32);
    return int((high + uint32_t(a)) >> shift);
}

/** Those of a vector all together, too. */
template<class To, class From>
__device__ __forceinline__ To all_bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "of one size");
    union {
        From from;
        To to;
    } u{from};
    return u.to;
}

template<class To, class From>
__device__ __forceinline__ To bits_as(From from) {
    return all_bits_as<To>(from);
}

template<class T>
__device__ __forceinline__ T minimum(T a, T b) {
    return b < a ? b : a;
}
template<class T>
__device__ __forceinline__ T maximum(T a, T b) {
    return a < b ? b : a;
}
#ifndef HALYARD_EMULATOR
template<>
__device__ __forceinline__ float minimum<float>(float a, float b) {
    return fminf(a, b);
}
template<>
__device__ __forceinline__ float maximum<float>(float a, float b) {
    return fmaxf(a, b);
}
#endif
/** The larger one, or a NaN if one is. */
__device__ __forceinline__ float max_or_nan(float a, float b) {
#ifdef HALYARD_EMULATOR
    return a != a ? a : b != b || a < b ? b : a;
#else
    float y;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
#endif
}

// ---- Vectors: N neighbours that one thread handles at once ----

__device__ constexpr int vector_alignment(int bytes) {
    return bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
}

template<class T, int N>
struct alignas(vector_alignment(N * int(sizeof(T)))) vec {
    T element[N];
    __device__ __forceinline__ T &operator[](int i) {
        return element[i];
    }
    __device__ __forceinline__ const T &operator[](int i) const {
        return element[i];
    }
};

template<class T>
struct without_const {
    using type = T;
};
template<class T>
struct without_const<T &> {
    using type = T;
};
template<class T>
struct without_const<const T &> {
    using type = T;
};

template<class T>
struct lanes_of {
    using element = T;
    static constexpr int count = 1;
    static constexpr bool is_float = false;
};
template<>
struct lanes_of<float> {
    using element = float;
    static constexpr int count = 1;
    static constexpr bool is_float = true;
};
template<class T, int N>
struct lanes_of<vec<T, N>> {
    using element = T;
    static constexpr int count = N;
};

template<int N, class T>
__device__ __forceinline__ vec<T, N> broadcast(T x) {
    vec<T, N> v;
#pragma unroll
    for (int i = 0; i < N; i++) {
        v[i] = x;
    }
    return v;
}

template<int N, class T>
__device__ __forceinline__ vec<T, N> ramp(T base, T stride) {
    vec<T, N> v;
#pragma unroll
    for (int i = 0; i < N; i++) {
        v[i] = base + T(i) * stride;
    }
    return v;
}

/** f(a[i], b[i]) for each i. */
template<class F, class T, int N>
__device__ __forceinline__ auto each(F f, const vec<T, N> &a) -> vec<decltype(f(a[0])), N> {
    vec<decltype(f(a[0])), N> v;
#pragma unroll
    for (int i = 0; i < N; i++) {
        v[i] = f(a[i]);
    }
    return v;
}
template<class F, class T, class U, int N>
__device__ __forceinline__ auto each(F f, const vec<T, N> &a, const vec<U, N> &b) -> vec<decltype(f(a[0], b[0])), N> {
    vec<decltype(f(a[0], b[0])), N> v;
#pragma unroll
    for (int i = 0; i < N; i++) {
        v[i] = f(a[i], b[i]);
    }
    return v;
}

#define HALYARD_ELEMENTWISE(OP, RESULT)                                                      \
    template<class T, int N>                                                                 \
    __device__ __forceinline__ vec<RESULT, N> operator OP(const vec<T, N> &a, const vec<T, N> &b) { \
        return each([](T x, T y) { return RESULT(x OP y); }, a, b);                          \
    }
HALYARD_ELEMENTWISE(+, T)
HALYARD_ELEMENTWISE(-, T)
HALYARD_ELEMENTWISE(*, T)
HALYARD_ELEMENTWISE(/, T)
HALYARD_ELEMENTWISE(&, T)
HALYARD_ELEMENTWISE(|, T)
HALYARD_ELEMENTWISE(^, T)
HALYARD_ELEMENTWISE(<<, T)
HALYARD_ELEMENTWISE(>>, T)
HALYARD_ELEMENTWISE(<, bool)
HALYARD_ELEMENTWISE(<=, bool)
HALYARD_ELEMENTWISE(>, bool)
HALYARD_ELEMENTWISE(>=, bool)
HALYARD_ELEMENTWISE(==, bool)
HALYARD_ELEMENTWISE(!=, bool)
HALYARD_ELEMENTWISE(&&, bool)
HALYARD_ELEMENTWISE(||, bool)
#undef HALYARD_ELEMENTWISE

template<int N>
__device__ __forceinline__ vec<bool, N> operator!(const vec<bool, N> &a) {
    return each([](bool x) { return !x; }, a);
}

template<class T, int N>
__device__ __forceinline__ vec<T, N> select(const vec<bool, N> &c, const vec<T, N> &a, const vec<T, N> &b) {
    vec<T, N> v;
#pragma unroll
    for (int i = 0; i < N; i++) {
        v[i] = c[i] ? a[i] : b[i];
    }
    return v;
}

template<class T, int N>
__device__ __forceinline__ vec<T, N> minimum(const vec<T, N> &a, const vec<T, N> &b) {
    return each([](T x, T y) { return minimum(x, y); }, a, b);
}
template<class T, int N>
__device__ __forceinline__ vec<T, N> maximum(const vec<T, N> &a, const vec<T, N> &b) {
    return each([](T x, T y) { return maximum(x, y); }, a, b);
}
template<class T, int N>
__device__ __forceinline__ vec<T, N> div_floor(const vec<T, N> &a, const vec<T, N> &b) {
    return each([](T x, T y) { return div_floor(x, y); }, a, b);
}
template<class T, int N>
__device__ __forceinline__ vec<T, N> mod_floor(const vec<T, N> &a, const vec<T, N> &b) {
    return each([](T x, T y) { return mod_floor(x, y); }, a, b);
}

template<class To, class From, int N>
__device__ __forceinline__ vec<To, N> to(const vec<From, N> &a) {
    vec<To, N> v;
#pragma unroll
    for (int i = 0; i < N; i++) {
        v[i] = to<To>(a[i]);
    }
    return v;
}

/** A pair in one register, each taken out of it by one instruction; as 16 bits by themselves the second would take two. */
template<class To, int N>
__device__ __forceinline__ vec<To, N> to(const vec<bfloat16, N> &a) {
    vec<To, N> v;
    if constexpr (N % 2 == 0 && lanes_of<To>::is_float) {
        union {
            vec<bfloat16, N> from;
            uint32_t pair[N / 2];
        } u{a};
#pragma unroll
        for (int i = 0; i < N; i += 2) {
            v[i] = bits_as<float>(u.pair[i / 2] << 16);
            v[i + 1] = bits_as<float>(u.pair[i / 2] & 0xffff0000u);
        }
    } else {
#pragma unroll
        for (int i = 0; i < N; i++) {
            v[i] = to<To>(a[i]);
        }
    }
    return v;
}

/** Pairs are converted by one instruction. */
#define HALYARD_TO_PAIRS(TYPE)                                                          \
    template<int N>                                                                     \
    __device__ __forceinline__ vec<TYPE, N> to_##TYPE(const vec<float, N> &a) {         \
        union {                                                                         \
            vec<TYPE, N> v;                                                             \
            uint32_t pair[N / 2 + 1];                                                   \
        } u;                                                                            \
        _Pragma("unroll") for (int i = 0; i + 1 < N; i += 2) {                          \
            u.pair[i / 2] = floats_to_##TYPE##_bits(a[i], a[i + 1]);                    \
        }                                                                               \
        if (N % 2) {                                                                    \
            u.v[N - 1] = TYPE(a[N - 1]);                                                \
        }                                                                               \
        return u.v;                                                                     \
    }
HALYARD_TO_PAIRS(half)
HALYARD_TO_PAIRS(bfloat16)
#undef HALYARD_TO_PAIRS

template<class To, class From, int N>
__device__ __forceinline__ vec<To, N> bits_as(const vec<From, N> &a) {
    static_assert(sizeof(To) == sizeof(From), "of one size");
    union {
        vec<From, N> from;
        vec<To, N> to;
    } u{a};
    return u.to;
}

/** Reduces neighbours: the vector of N has N / M results, of M lanes each. */
template<int M, class F, class T, int N>
__device__ __forceinline__ vec<T, N / M> reduce_lanes(F f, const vec<T, N> &a) {
    vec<T, N / M> v;
#pragma unroll
    for (int i = 0; i < N / M; i++) {
        T t = a[i * M];
#pragma unroll
        for (int j = 1; j < M; j++) {
            t = f(t, a[i * M + j]);
        }
        v[i] = t;
    }
    return v;
}

// ---- Memory ----

/** Of an array that the thread has in registers; P points to its elements. */
template<int N, class P>
__device__ __forceinline__ auto load_registers(P p) {
    vec<typename without_const<decltype(p[0])>::type, N> v;
#pragma unroll
    for (int i = 0; i < N; i++) {
        v[i] = p[i];
    }
    return v;
}

template<class P, class T, int N>
__device__ __forceinline__ void store_registers(P p, const vec<T, N> &v) {
#pragma unroll
    for (int i = 0; i < N; i++) {
        p[i] = v[i];
    }
}

#ifndef HALYARD_EMULATOR
/** Four bytes are a register, and stay one: taken apart and put together again they cost a product of bytes, in tiles of
 * 8 x 8, 250 kB of instructions and 166 registers. Arrays of bytes begin at a multiple of four. */
#define HALYARD_FOUR_BYTES(TYPE)                                                               \
    template<int N>                                                                            \
    __device__ __forceinline__ auto load_registers(TYPE *p) -> vec<TYPE, N> {                  \
        vec<TYPE, N> v;                                                                        \
        if (N == 4) {                                                                          \
            *reinterpret_cast<uint32_t *>(&v) = *reinterpret_cast<const uint32_t *>(p);        \
        } else {                                                                               \
            _Pragma("unroll") for (int i = 0; i < N; i++) {                                    \
                v[i] = p[i];                                                                   \
            }                                                                                  \
        }                                                                                      \
        return v;                                                                              \
    }                                                                                          \
    template<int N>                                                                            \
    __device__ __forceinline__ void store_registers(TYPE *p, const vec<TYPE, N> &v) {          \
        _Pragma("unroll") for (int i = 0; i + 3 < N; i += 4) {                                 \
            reinterpret_cast<uint32_t *>(p)[i / 4] = reinterpret_cast<const uint32_t *>(&v)[i / 4]; \
        }                                                                                      \
        _Pragma("unroll") for (int i = N / 4 * 4; i < N; i++) {                                \
            p[i] = v[i];                                                                       \
        }                                                                                      \
    }
HALYARD_FOUR_BYTES(uint8_t)
HALYARD_FOUR_BYTES(int8_t)
#undef HALYARD_FOUR_BYTES
#endif

#ifndef HALYARD_EMULATOR

template<int Bytes>
struct machine_word;
template<>
struct machine_word<16> {
    using type = uint4;
};
template<>
struct machine_word<8> {
    using type = uint2;
};
template<>
struct machine_word<4> {
    using type = uint32_t;
};
template<>
struct machine_word<2> {
    using type = uint16_t;
};
template<>
struct machine_word<1> {
    using type = uint8_t;
};

/** A vector in the widest pieces that the machine has. */
template<class T, int N>
struct pieces {
    static constexpr int bytes = vector_alignment(N * int(sizeof(T)));
    static constexpr int count = N * int(sizeof(T)) / bytes;
    using word = typename machine_word<bytes>::type;
    union {
        vec<T, N> v;
        word w[count];
    };
    __device__ __forceinline__ pieces() {
    }
};

/** N neighbours from p, which is aligned to them or to 16 bytes. */
template<int N, class T>
__device__ __forceinline__ auto load(const T *p) {
    pieces<T, N> r;
    const auto *w = reinterpret_cast<const typename pieces<T, N>::word *>(p);
#pragma unroll
    for (int i = 0; i < pieces<T, N>::count; i++) {
        r.w[i] = w[i];
    }
    return r.v;
}

/** From device memory that is read once: other lines stay in the caches. */
template<int N, class T>
__device__ __forceinline__ auto load_streaming(const T *p) {
    pieces<T, N> r;
    const auto *w = reinterpret_cast<const typename pieces<T, N>::word *>(p);
#pragma unroll
    for (int i = 0; i < pieces<T, N>::count; i++) {
        r.w[i] = __ldcs(w + i);
    }
    return r.v;
}

template<class T, int N>
__device__ __forceinline__ void store(T *p, const vec<T, N> &v) {
    pieces<T, N> r;
    r.v = v;
    auto *w = reinterpret_cast<typename pieces<T, N>::word *>(p);
#pragma unroll
    for (int i = 0; i < pieces<T, N>::count; i++) {
        w[i] = r.w[i];
    }
}

template<class T, int N>
__device__ __forceinline__ void store_streaming(T *p, const vec<T, N> &v) {
    pieces<T, N> r;
    r.v = v;
    auto *w = reinterpret_cast<typename pieces<T, N>::word *>(p);
#pragma unroll
    for (int i = 0; i < pieces<T, N>::count; i++) {
        __stcs(w + i, r.w[i]);
    }
}

/** One by one, from any address. */
template<int N, class T>
__device__ __forceinline__ auto load_elements(const T *p) {
    vec<typename lanes_of<T>::element, N> v;
#pragma unroll
    for (int i = 0; i < N; i++) {
        v[i] = p[i];
    }
    return v;
}

template<class T, int N>
__device__ __forceinline__ void store_elements(T *p, const vec<T, N> &v) {
#pragma unroll
    for (int i = 0; i < N; i++) {
        p[i] = v[i];
    }
}

template<class T, int N>
__device__ __forceinline__ auto gather(const T *p, const vec<int, N> &index) {
    vec<T, N> v;
#pragma unroll
    for (int i = 0; i < N; i++) {
        v[i] = p[index[i]];
    }
    return v;
}

template<class T, int N>
__device__ __forceinline__ void scatter(T *p, const vec<int, N> &index, const vec<T, N> &v) {
#pragma unroll
    for (int i = 0; i < N; i++) {
        p[index[i]] = v[i];
    }
}

/** The lanes whose predicate holds; 0 in the others. */
template<class T, int N>
__device__ __forceinline__ auto gather_if(const vec<bool, N> &predicate, const T *p, const vec<int, N> &index) {
    vec<T, N> v;
#pragma unroll
    for (int i = 0; i < N; i++) {
        v[i] = predicate[i] ? p[index[i]] : T();
    }
    return v;
}

template<class T, int N>
__device__ __forceinline__ void scatter_if(const vec<bool, N> &predicate, T *p, const vec<int, N> &index,
                                           const vec<T, N> &v) {
#pragma unroll
    for (int i = 0; i < N; i++) {
        if (predicate[i]) {
            p[index[i]] = v[i];
        }
    }
}

template<class T>
__device__ __forceinline__ uint32_t address_in_shared(const T *p) {
    return uint32_t(__cvta_generic_to_shared(p));
}

/** 16 bytes into shared memory, of which the first `valid` come from device memory and the rest as 0. */
template<class T>
__device__ __forceinline__ void copy_async_part(T *to, const T *from, int valid) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(address_in_shared(to)), "l"(from),
                 "r"(valid)
                 : "memory");
}
/** 4, 8 or 16 bytes into shared memory, or as many zeros. Those of 16 go past the L1. */
template<int Bytes, class T, class U>
__device__ __forceinline__ void copy_async(T *to, const U *from, bool condition = true) {
    if (Bytes == 16) {
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(address_in_shared(to)), "l"(from),
                     "r"(condition ? 16 : 0)
                     : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2, %3;" ::"r"(address_in_shared(to)), "l"(from),
                     "n"(Bytes), "r"(condition ? Bytes : 0)
                     : "memory");
    }
}
/** What the thread has asked for since the last time becomes a group. */
__device__ __forceinline__ void copy_async_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
/** Until at most so many groups of the thread are still under way. */
template<int Groups>
__device__ __forceinline__ void copy_async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(Groups) : "memory");
}

/** Until all of the thread's copies have arrived. */
__device__ __forceinline__ void copy_async_wait_all() {
    asm volatile("cp.async.wait_all;" ::: "memory");
}

/** 0 where the condition does not hold. Chosen by words: elements of 16 bits take three instructions for each pair. */
template<int N, class T>
__device__ __forceinline__ auto load_if(bool condition, const T *p) {
    pieces<T, N> r;
    const auto *w = reinterpret_cast<const typename pieces<T, N>::word *>(p);
#pragma unroll
    for (int i = 0; i < pieces<T, N>::count; i++) {
        r.w[i] = {};
        if (condition) {
            r.w[i] = w[i];
        }
    }
    return r.v;
}

template<int N, class P>
__device__ __forceinline__ auto load_elements_if(bool condition, P p) {
    decltype(load_elements<N>(p)) v = {};
    if (condition) {
        v = load_elements<N>(p);
    }
    return v;
}

/** sum + a[0] b[0] + ... + a[3] b[3], of bytes, by one instruction. */
template<class A, class B>
__device__ __forceinline__ int add_products(int sum, const vec<A, 4> &a, const vec<B, 4> &b) {
    constexpr bool a_signed = A(-1) < A(0), b_signed = B(-1) < B(0);
    pieces<A, 4> p;
    pieces<B, 4> q;
    p.v = a;
    q.v = b;
    int r;
    if (a_signed && b_signed) {
        asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(p.w[0]), "r"(q.w[0]), "r"(sum));
    } else if (a_signed) {
        asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(p.w[0]), "r"(q.w[0]), "r"(sum));
    } else if (b_signed) {
        asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(p.w[0]), "r"(q.w[0]), "r"(sum));
    } else {
        asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(p.w[0]), "r"(q.w[0]), "r"(sum));
    }
    return r;
}

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

#else

template<class A, class B>
inline int add_products(int sum, const vec<A, 4> &a, const vec<B, 4> &b) {
    for (int i = 0; i < 4; i++) {
        sum += int(a[i]) * int(b[i]);
    }
    return sum;
}

#endif

// ---- Reductions across threads ----

#ifndef HALYARD_EMULATOR
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
