// Numbers: the types that C++ has not, conversions, and arithmetic as Halide has it.

namespace halyard {

struct half {
    uint16_t bits;
    half() = default;
    __device__ __forceinline__ explicit half(float f) : bits(float_to_half_bits(f)) {}
    __device__ __forceinline__ explicit operator float() const {
        return half_bits_to_float(bits);
    }
};

struct bfloat16 {
    uint16_t bits;
    bfloat16() = default;
    __device__ __forceinline__ explicit bfloat16(float f) : bits(float_to_bfloat16_bits(f)) {}
    __device__ __forceinline__ explicit operator float() const {
        return __uint_as_float(uint32_t(bits) << 16);
    }
};

/** Numbers of 8 bits, by which the tensor cores read bytes. */
struct e4m3 {
    uint8_t bits;
};
struct e5m2 {
    uint8_t bits;
};

/** x in floating point of 8 bits: rounded to nearest, ties to even, saturated; of NaN 0x7f. */
#if !defined(HALYARD_EMULATOR) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
__device__ __forceinline__ uint8_t e4m3_bits(float x) {
    uint16_t two;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(two) : "f"(0.0f), "f"(x));
    return uint8_t(two);
}
__device__ __forceinline__ uint8_t e5m2_bits(float x) {
    uint16_t two;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(two) : "f"(0.0f), "f"(x));
    return uint8_t(two);
}
#else
/** As float8_of_f32() of math/float8_rounding.h has it, where no instruction does. */
template<int kDigits>
__device__ __forceinline__ uint8_t float8_bits(float x, float largest) {
    constexpr int kBias = (1 << (6 - kDigits)) - 1, kDropped = 23 - kDigits;
    const uint32_t bits = __float_as_uint(x), magnitude = bits & 0x7fffffffu, most = __float_as_uint(largest);
    if (magnitude > 0x7f800000u) {
        return 0x7f;
    }
    const uint32_t bounded = magnitude < most ? magnitude : most;
    const uint32_t rounded = (bounded + ((1u << (kDropped - 1)) - 1) + ((bounded >> kDropped) & 1)) >> kDropped;
    const float has_unit = __uint_as_float(uint32_t(127 + 1 - kBias - kDigits + 23) << 23);
    const uint32_t subnormal = __float_as_uint(__uint_as_float(bounded) + has_unit) - __float_as_uint(has_unit);
    const bool is_normal = bounded >= uint32_t(128 - kBias) << 23;
    return uint8_t((is_normal ? rounded - (uint32_t(127 - kBias) << kDigits) : subnormal) | ((bits >> 24) & 0x80u));
}
__device__ __forceinline__ uint8_t e4m3_bits(float x) {
    return float8_bits<3>(x, 448.0f);
}
__device__ __forceinline__ uint8_t e5m2_bits(float x) {
    return float8_bits<2>(x, 57344.0f);
}
#endif

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

/** e^x within 2 + |x| / 2 units in the last place; 0 below -87.3, NaN stays. A softmax is faster by it than by expf. */
__device__ __forceinline__ float exp_approx(float x) {
    return exp2_approx(x * 1.44269504f);
}

#ifdef HALYARD_EMULATOR
inline float divide(float a, float b) {
    return a / b;
}
#else
/** a / b within 2 units in the last place, 0 for |b| above 2^126. The exact division has a branch in it, which keeps
 * the instructions of neighbouring elements apart: GELU behind a product takes several times as long with it. */
__device__ __forceinline__ float divide(float a, float b) {
    return __fdividef(a, b);
}
#endif

/** What was promised when the kernel was printed, as that an extent is enough. A kernel of which it does not hold ends with an error. */
__device__ __forceinline__ void expect(bool holds) {
    if (!holds) {
#ifdef HALYARD_EMULATOR
        emulator::fail("does not find what its schedule promises");
#else
        __trap();
#endif
    }
}

/** A value that an algorithm gives under a condition. A kernel for which it does not hold ends with an error. */
template<class T>
__device__ __forceinline__ T required(bool holds, T value) {
    if (!holds) {
#ifdef HALYARD_EMULATOR
        emulator::fail("is asked for what its algorithm says that it must not be");
#else
        __trap();
#endif
    }
    return value;
}

/** Some bits of x, and those of `more`. The compiler makes two instructions of it where both are constants, as one takes only one of them. */
__device__ __forceinline__ uint32_t masked_or(uint32_t x, uint32_t mask, uint32_t more) {
#ifdef HALYARD_EMULATOR
    return (x & mask) | more;
#else
    uint32_t result;
    asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(result) : "r"(x), "r"(mask), "r"(more));
    return result;
#endif
}

/** The bits of an integer, without those that its sign would be extended to. */
template<class T>
__device__ __forceinline__ uint64_t bits_of(T x) {
    return sizeof(T) == 8 ? uint64_t(x) : uint64_t(x) & ((uint64_t(1) << 8 * (sizeof(T) % 8)) - 1);
}
template<class T>
__device__ __forceinline__ T count_ones(T x) {
    return T(sizeof(T) == 8 ? __popcll(bits_of(x)) : __popc(uint32_t(bits_of(x))));
}
/** All of its bits for 0, as the next. */
template<class T>
__device__ __forceinline__ T leading_zeros(T x) {
    return T(sizeof(T) == 8 ? __clzll(int64_t(bits_of(x))) : __clz(int(uint32_t(bits_of(x)))) - int(32 - 8 * (sizeof(T) % 8)));
}
template<class T>
__device__ __forceinline__ T trailing_zeros(T x) {
    if (x == T(0)) {
        return T(8 * sizeof(T));
    }
    return T((sizeof(T) == 8 ? __ffsll(int64_t(bits_of(x))) : __ffs(int(uint32_t(bits_of(x))))) - 1);
}

/** Floor of a / b, 0 for b == 0; and what is left, in [0, |b|). Halide's integer division. */
template<class T>
__device__ __forceinline__ T div_floor(T a, T b) {
    if (b == 0) {
        return 0;
    }
    if constexpr (T(-1) > T(0)) {
        return a / b;
    } else {
        const T q = a / b, r = a % b;
        return r < 0 ? q - (b > 0 ? 1 : -1) : q;
    }
}
template<class T>
__device__ __forceinline__ T mod_floor(T a, T b) {
    if (b == 0) {
        return 0;
    }
    if constexpr (T(-1) > T(0)) {
        return a % b;
    } else {
        const T r = a % b;
        return r < 0 ? r + (b > 0 ? b : -b) : r;
    }
}

/** Floor of a / b for a >= 0 and b > 0, by what the host makes of b (hoisted_uniforms.h). */
__device__ __forceinline__ int divide_by(int a, uint32_t multiplier, int shift) {
    const uint32_t high = uint32_t(uint64_t(uint32_t(a)) * multiplier >> 32);
    return int((high + uint32_t(a)) >> shift);
}

/** A number that many are divided by, with what the host makes of it if it is above 0. */
struct divisor {
    int value;
    uint32_t multiplier;
    int shift;
};
__device__ __forceinline__ int div_floor(int a, const divisor &b) {
    const int sign = a >> 31;  // the floor of what is below 0 is that of its complement, complemented
    return b.value > 0 ? divide_by(a ^ sign, b.multiplier, b.shift) ^ sign : div_floor(a, b.value);
}
__device__ __forceinline__ int mod_floor(int a, const divisor &b) {
    return b.value > 0 ? a - div_floor(a, b) * b.value : mod_floor(a, b.value);
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

}  // namespace halyard
