// Vectors in registers, and in memory: in the widest pieces where they are aligned, else one by one.

#ifdef HALYARD_EMULATOR
// As in vectors.h.
#pragma GCC push_options
#pragma GCC optimize("O2")
#endif

namespace halyard {

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
#define HALYARD_FOUR_BYTES(TYPE)                                                                                                           \
    template<int N>                                                                                                                        \
    __device__ __forceinline__ auto load_registers(TYPE *p)->vec<TYPE, N> {                                                                \
        vec<TYPE, N> v;                                                                                                                    \
        if (N == 4) {                                                                                                                      \
            *reinterpret_cast<uint32_t *>(&v) = *reinterpret_cast<const uint32_t *>(p);                                                    \
        } else {                                                                                                                           \
            _Pragma("unroll") for (int i = 0; i < N; i++) {                                                                                \
                v[i] = p[i];                                                                                                               \
            }                                                                                                                              \
        }                                                                                                                                  \
        return v;                                                                                                                          \
    }                                                                                                                                      \
    template<int N>                                                                                                                        \
    __device__ __forceinline__ void store_registers(TYPE *p, const vec<TYPE, N> &v) {                                                      \
        _Pragma("unroll") for (int i = 0; i + 3 < N; i += 4) {                                                                             \
            reinterpret_cast<uint32_t *>(p)[i / 4] = reinterpret_cast<const uint32_t *>(&v)[i / 4];                                        \
        }                                                                                                                                  \
        _Pragma("unroll") for (int i = N / 4 * 4; i < N; i++) {                                                                            \
            p[i] = v[i];                                                                                                                   \
        }                                                                                                                                  \
    }
HALYARD_FOUR_BYTES(uint8_t)
HALYARD_FOUR_BYTES(int8_t)
#undef HALYARD_FOUR_BYTES

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

/** The same bytes in words. */
template<int N, class T>
__device__ __forceinline__ byte_words<T, N> load_words(const T *p) {
    using word = typename pieces<T, N>::word;
    constexpr int kBytes = pieces<T, N>::bytes;
    byte_words<T, N> words = {};
#pragma unroll
    for (int i = 0; i < pieces<T, N>::count; i++) {
        const word piece = reinterpret_cast<const word *>(p)[i];
        if constexpr (kBytes < 4) {
            words.word[i * kBytes / 4] |= uint32_t(piece) << i * kBytes % 4 * 8;
        } else {
            reinterpret_cast<word *>(words.word)[i] = piece;
        }
    }
    return words;
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

/** Whether N neighbours from p can be loaded at once. */
template<int N, class T>
__device__ __forceinline__ bool are_aligned(const T *p) {
    return reinterpret_cast<size_t>(p) % (N * sizeof(T)) == 0;
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
__device__ __forceinline__ void scatter_if(const vec<bool, N> &predicate, T *p, const vec<int, N> &index, const vec<T, N> &v) {
#pragma unroll
    for (int i = 0; i < N; i++) {
        if (predicate[i]) {
            p[index[i]] = v[i];
        }
    }
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

#endif

}  // namespace halyard

#ifdef HALYARD_EMULATOR
#pragma GCC pop_options
#endif
