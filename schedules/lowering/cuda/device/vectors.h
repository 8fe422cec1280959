// Vectors: N neighbours that one thread handles at once.

namespace halyard {

__device__ constexpr int vector_alignment(int bytes) {
    return bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
}

template<class T, int N>
struct alignas(vector_alignment(N *int(sizeof(T)))) vec {
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

#define HALYARD_ELEMENTWISE(OP, RESULT)                                                                                                    \
    template<class T, int N>                                                                                                               \
    __device__ __forceinline__ vec<RESULT, N> operator OP(const vec<T, N> &a, const vec<T, N> &b) {                                        \
        return each([](T x, T y) { return RESULT(x OP y); }, a, b);                                                                        \
    }
HALYARD_ELEMENTWISE(+, T)
HALYARD_ELEMENTWISE(-, T)
HALYARD_ELEMENTWISE(*, T)
HALYARD_ELEMENTWISE(/, T)
HALYARD_ELEMENTWISE(%, T)
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

#ifndef HALYARD_EMULATOR
/** Bytes, four in a word. */
template<class T, int N>
union words_of_bytes {
    uint32_t four[(N + 3) / 4];
    vec<T, N> bytes;
    __device__ __forceinline__ explicit words_of_bytes(const vec<T, N> &b) {
        four[(N - 1) / 4] = 0;
        bytes = b;
    }
};

/** Bytes become the last 8 bits of 2^23, by one instruction each, of which 2^23 is taken: there are four times as many of these
 * instructions in a clock as of those that convert. */
#define HALYARD_TO_FLOATS(TYPE, FLIP)                                                                                                      \
    template<class To, int N>                                                                                                              \
    __device__ __forceinline__ vec<To, N> to(const vec<TYPE, N> &a) {                                                                      \
        vec<To, N> v;                                                                                                                      \
        if constexpr (N % 2 == 0 && lanes_of<To>::is_float) {                                                                              \
            const words_of_bytes<TYPE, N> u(a);                                                                                            \
            _Pragma("unroll") for (int i = 0; i < N; i++) {                                                                                \
                const uint32_t bits = __byte_perm(u.four[i / 4] ^ (FLIP * 0x01010101u), 0x4b000000u, 0x7540 | i % 4);                      \
                v[i] = bits_as<float>(bits) - (8388608.0f + FLIP);                                                                         \
            }                                                                                                                              \
        } else {                                                                                                                           \
            _Pragma("unroll") for (int i = 0; i < N; i++) {                                                                                \
                v[i] = to<To>(a[i]);                                                                                                       \
            }                                                                                                                              \
        }                                                                                                                                  \
        return v;                                                                                                                          \
    }
HALYARD_TO_FLOATS(uint8_t, 0)
HALYARD_TO_FLOATS(int8_t, 128)
#undef HALYARD_TO_FLOATS
#endif

/** Pairs are converted by one instruction. */
#define HALYARD_TO_PAIRS(TYPE)                                                                                                             \
    template<int N>                                                                                                                        \
    __device__ __forceinline__ vec<TYPE, N> to_##TYPE(const vec<float, N> &a) {                                                            \
        union {                                                                                                                            \
            vec<TYPE, N> v;                                                                                                                \
            uint32_t pair[N / 2 + 1];                                                                                                      \
        } u;                                                                                                                               \
        _Pragma("unroll") for (int i = 0; i + 1 < N; i += 2) {                                                                             \
            u.pair[i / 2] = floats_to_##TYPE##_bits(a[i], a[i + 1]);                                                                       \
        }                                                                                                                                  \
        if (N % 2) {                                                                                                                       \
            u.v[N - 1] = TYPE(a[N - 1]);                                                                                                   \
        }                                                                                                                                  \
        return u.v;                                                                                                                        \
    }
HALYARD_TO_PAIRS(half)
HALYARD_TO_PAIRS(bfloat16)
#undef HALYARD_TO_PAIRS

// 16-bit floats of bytes, and their arithmetic. The bits are those of float arithmetic that is rounded: a float has more than twice their
// digits.
//
//   small_bytes_to_half<ZERO>(words)      x - ZERO, of bytes from 0 to 127
//   bytes_to_half(words)                  of any bytes
//   multiply_pairs(a, b), add_pairs, subtract_pairs: two by one instruction
//
// Bytes are in words on the way there: what takes a vector of bytes apart and masks each takes twice the instructions.
//
//   words_of(vector), load_words<N>(p)    mask_words<MASK>(words)    shift_words_right<BY>(words)

#ifdef HALYARD_EMULATOR
template<class T, int N>
using byte_words = vec<T, N>;

template<class T, int N>
vec<T, N> words_of(const vec<T, N> &a) {
    return a;
}
template<int MASK, int N>
vec<uint8_t, N> mask_words(const vec<uint8_t, N> &a) {
    return each([](uint8_t x) { return uint8_t(x & MASK); }, a);
}
template<int BY, int N>
vec<uint8_t, N> shift_words_right(const vec<uint8_t, N> &a) {
    return each([](uint8_t x) { return uint8_t(x >> BY); }, a);
}

#define HALYARD_BYTES_TO(TYPE)                                                                                                             \
    template<class T, int N>                                                                                                               \
    vec<TYPE, N> bytes_to_##TYPE(const vec<T, N> &a) {                                                                                     \
        return to_##TYPE(to<float>(a));                                                                                                    \
    }                                                                                                                                      \
    template<int ZERO, class T, int N>                                                                                                     \
    vec<TYPE, N> small_bytes_to_##TYPE(const vec<T, N> &a) {                                                                               \
        return to_##TYPE(to<float>(a) - broadcast<N>(float(ZERO)));                                                                        \
    }                                                                                                                                      \
    template<int N>                                                                                                                        \
    vec<TYPE, N> multiply_pairs(const vec<TYPE, N> &a, const vec<TYPE, N> &b) {                                                            \
        return to_##TYPE(to<float>(a) * to<float>(b));                                                                                     \
    }                                                                                                                                      \
    template<int N>                                                                                                                        \
    vec<TYPE, N> add_pairs(const vec<TYPE, N> &a, const vec<TYPE, N> &b) {                                                                 \
        return to_##TYPE(to<float>(a) + to<float>(b));                                                                                     \
    }                                                                                                                                      \
    template<int N>                                                                                                                        \
    vec<TYPE, N> subtract_pairs(const vec<TYPE, N> &a, const vec<TYPE, N> &b) {                                                            \
        return to_##TYPE(to<float>(a) - to<float>(b));                                                                                     \
    }
HALYARD_BYTES_TO(half)
HALYARD_BYTES_TO(bfloat16)
#undef HALYARD_BYTES_TO

template<class To, int N>
vec<To, N> upper_halves(const vec<uint32_t, N> &a) {
    return each([](uint32_t x) { return bits_as<To>(uint16_t(x >> 16)); }, a);
}
#else
/** N bytes, four in a word. */
template<class T, int N>
struct alignas(vector_alignment((N + 3) / 4 * 4)) byte_words {
    static constexpr int count = (N + 3) / 4;
    uint32_t word[count];
};

template<class T, int N>
__device__ __forceinline__ byte_words<T, N> words_of(const vec<T, N> &a) {
    const words_of_bytes<T, N> u(a);
    byte_words<T, N> words;
#pragma unroll
    for (int i = 0; i < words.count; i++) {
        words.word[i] = u.four[i];
    }
    return words;
}
template<int MASK, int N>
__device__ __forceinline__ byte_words<uint8_t, N> mask_words(byte_words<uint8_t, N> a) {
#pragma unroll
    for (int i = 0; i < a.count; i++) {
        a.word[i] &= MASK * 0x01010101u;
    }
    return a;
}
template<int BY, int N>
__device__ __forceinline__ byte_words<uint8_t, N> shift_words_right(byte_words<uint8_t, N> a) {
#pragma unroll
    for (int i = 0; i < a.count; i++) {
        a.word[i] = a.word[i] >> BY & (0xff >> BY) * 0x01010101u;
    }
    return a;
}

/** x * y + z of two 16-bit floats each, bits and bits. */
template<class T>
__device__ __forceinline__ uint32_t multiply_add_pair(uint32_t x, uint32_t y, uint32_t z);
template<>
__device__ __forceinline__ uint32_t multiply_add_pair<half>(uint32_t x, uint32_t y, uint32_t z) {
    uint32_t sum;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(x), "r"(y), "r"(z));
    return sum;
}
template<>
__device__ __forceinline__ uint32_t multiply_add_pair<bfloat16>(uint32_t x, uint32_t y, uint32_t z) {
    uint32_t sum;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(sum) : "r"(x), "r"(y), "r"(z));
    return sum;
}

/** Two of them in a register; one is left over where N is odd. */
template<class T, int N>
union pairs_of {
    uint32_t pair[(N + 1) / 2];
    vec<T, N> v;
    __device__ __forceinline__ pairs_of() {
        pair[(N - 1) / 2] = 0;
    }
    __device__ __forceinline__ explicit pairs_of(const vec<T, N> &from) {
        pair[(N - 1) / 2] = 0;
        v = from;
    }
};

/** Bits of 1, of both of a pair. */
template<class T>
__device__ constexpr uint32_t ones();
template<>
__device__ constexpr uint32_t ones<half>() {
    return 0x3c003c00u;
}
template<>
__device__ constexpr uint32_t ones<bfloat16>() {
    return 0x3f803f80u;
}
constexpr uint32_t kSignsOfPair = 0x80008000u;

template<class F, class T, int N>
__device__ __forceinline__ vec<T, N> each_pair(F f, const vec<T, N> &a, const vec<T, N> &b) {
    const pairs_of<T, N> x(a), y(b);
    pairs_of<T, N> result;
#pragma unroll
    for (int i = 0; i < (N + 1) / 2; i++) {
        result.pair[i] = f(x.pair[i], y.pair[i]);
    }
    return result.v;
}
template<class T, int N>
__device__ __forceinline__ vec<T, N> multiply_pairs(const vec<T, N> &a, const vec<T, N> &b) {
    return each_pair([](uint32_t x, uint32_t y) { return multiply_add_pair<T>(x, y, kSignsOfPair); }, a, b);
}
template<class T, int N>
__device__ __forceinline__ vec<T, N> add_pairs(const vec<T, N> &a, const vec<T, N> &b) {
    return each_pair([](uint32_t x, uint32_t y) { return multiply_add_pair<T>(x, ones<T>(), y); }, a, b);
}
template<class T, int N>
__device__ __forceinline__ vec<T, N> subtract_pairs(const vec<T, N> &a, const vec<T, N> &b) {
    return each_pair([](uint32_t x, uint32_t y) { return multiply_add_pair<T>(y, ones<T>() | kSignsOfPair, x); }, a, b);
}

/** The upper halves of numbers as what they are bits of, two by one instruction. */
template<class To, int N>
__device__ __forceinline__ vec<To, N> upper_halves(const vec<uint32_t, N> &a) {
    pairs_of<To, N> halves;
#pragma unroll
    for (int i = 0; i < (N + 1) / 2; i++) {
        halves.pair[i] = __byte_perm(a[2 * i], a[2 * i + 1 < N ? 2 * i + 1 : 2 * i], 0x7632);
    }
    return halves.v;
}

/** The bytes of a pair of a word between bytes of another. Of an intrinsic the compiler sees which bytes it takes, and takes the word apart
 * for them. */
__device__ __forceinline__ uint32_t spread_bytes(uint32_t word, int pair, uint32_t with) {
    uint32_t spread;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(spread) : "r"(word), "r"(with), "r"(pair % 2 ? 0x4342 : 0x4140));
    return spread;
}

/** Bytes become the last 8 bits of 1024, two at a time, of which 1024 is taken: exact. */
template<class T, int N>
__device__ __forceinline__ vec<half, N> bytes_to_half(const byte_words<T, N> &a) {
    constexpr bool kSigned = T(-1) < T(0);
    pairs_of<half, N> halves;
#pragma unroll
    for (int i = 0; i < (N + 1) / 2; i++) {
        const uint32_t above = spread_bytes(a.word[i / 2] ^ (kSigned ? 0x80808080u : 0u), i, 0x64646464u);
        halves.pair[i] = multiply_add_pair<half>(above, ones<half>(), kSigned ? 0xe480e480u : 0xe400e400u);
    }
    return halves.v;
}
/** bfloat16 has a bit less: the last 7 bits of a byte become those of 128, from which 128 is taken, or 256 where the first bit is set.
 * Of bytes without a sign the first bit is turned over, and 128 added. */
template<class T, int N>
__device__ __forceinline__ vec<bfloat16, N> bytes_to_bfloat16(const byte_words<T, N> &a) {
    constexpr bool kSigned = T(-1) < T(0);
    constexpr uint32_t kMinusOnes = ones<bfloat16>() | kSignsOfPair;
    pairs_of<bfloat16, N> floats;
#pragma unroll
    for (int i = 0; i < (N + 1) / 2; i++) {
        const uint32_t above = spread_bytes(a.word[i / 2] ^ (kSigned ? 0u : 0x80808080u), i, 0x43434343u);
        const uint32_t number = multiply_add_pair<bfloat16>(above & 0xff80ff80u, kMinusOnes, above & 0xff7fff7fu);
        floats.pair[i] = kSigned ? number : multiply_add_pair<bfloat16>(number, ones<bfloat16>(), 0x43004300u);
    }
    return floats.v;
}

/** Bytes become the last bits of 1024 or 128, of which these and the zero are taken: exact. */
template<int ZERO, class To, class T, int N>
__device__ __forceinline__ vec<To, N> small_bytes_to(const byte_words<T, N> &a, uint32_t first) {
    static_assert(ZERO >= 0 && ZERO < 128, "the last bits of 128");
    pairs_of<To, N> numbers;
#pragma unroll
    for (int i = 0; i < (N + 1) / 2; i++) {
        numbers.pair[i] = multiply_add_pair<To>(spread_bytes(a.word[i / 2], i, first), ones<To>(),
                                                (first & 0xff00ff00u) + ZERO * 0x00010001u | kSignsOfPair);
    }
    return numbers.v;
}
template<int ZERO, class T, int N>
__device__ __forceinline__ vec<half, N> small_bytes_to_half(const byte_words<T, N> &a) {
    return small_bytes_to<ZERO, half>(a, 0x64646464u);
}
template<int ZERO, class T, int N>
__device__ __forceinline__ vec<bfloat16, N> small_bytes_to_bfloat16(const byte_words<T, N> &a) {
    return small_bytes_to<ZERO, bfloat16>(a, 0x43434343u);
}
#endif

#ifndef HALYARD_EMULATOR
/** Two bytes of a word in a register: that they are halves of it the compiler sees by their numbers, and not in memory. */
template<class To>
__device__ __forceinline__ To all_bits_as(const vec<uint8_t, 2> &a) {
    return all_bits_as<To>(uint16_t(a[0] | uint32_t(a[1]) << 8));
}
#endif

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
    __device__ __forceinline__ pieces() {}
};

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

#else

template<class A, class B>
inline int add_products(int sum, const vec<A, 4> &a, const vec<B, 4> &b) {
    for (int i = 0; i < 4; i++) {
        sum += int(a[i]) * int(b[i]);
    }
    return sum;
}

#endif

}  // namespace halyard
