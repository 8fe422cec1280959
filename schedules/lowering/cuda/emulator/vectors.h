#ifndef HALYARD_EMULATOR_VECTORS_H
#define HALYARD_EMULATOR_VECTORS_H

/** \file
 * Vectors in memory: in pieces of up to 16 bytes that are aligned, as the device accesses them.
 */

#include "global.h"
#include "shared.h"

namespace halyard {

namespace emulator {

template<class T>
void read(const global<T> &p, void *data, int bytes, int alignment) {
    memcpy(data, p.access(bytes, alignment, kReads), bytes);
}
template<class T>
void read(const shared<T> &p, void *data, int bytes, int alignment) {
    read_shared(p.access(bytes, alignment), data);
}
template<class T>
void write(const global<T> &p, const void *data, int bytes, int alignment) {
    memcpy(p.access(bytes, alignment, kWrites), data, bytes);
}
template<class T>
void write(const shared<T> &p, const void *data, int bytes, int alignment) {
    write_shared(p.access(bytes, alignment), data);
}

template<class P>
struct element_of_place {
    using type = typename P::element;
};
template<class T>
struct element_of_place<T *> {  // registers
    using type = value_of<T>;
};
template<class T, size_t N>
struct element_of_place<T[N]> {
    using type = value_of<T>;
};
template<class P>
using element_of = typename element_of_place<P>::type;

}  // namespace emulator

// Elements of shared memory among numbers, where a function of device/numbers.h is a template of one type.
#define HALYARD_OF_ELEMENTS(FUNCTION)                                                                                                      \
    template<class T>                                                                                                                      \
    T FUNCTION(T a, T b);                                                                                                                  \
    template<class T>                                                                                                                      \
    T FUNCTION(T a, const emulator::Element<T> &b) {                                                                                       \
        return FUNCTION(a, T(b));                                                                                                          \
    }                                                                                                                                      \
    template<class T>                                                                                                                      \
    T FUNCTION(const emulator::Element<T> &a, T b) {                                                                                       \
        return FUNCTION(T(a), b);                                                                                                          \
    }                                                                                                                                      \
    template<class T>                                                                                                                      \
    T FUNCTION(const emulator::Element<T> &a, const emulator::Element<T> &b) {                                                             \
        return FUNCTION(T(a), T(b));                                                                                                       \
    }
HALYARD_OF_ELEMENTS(maximum)
HALYARD_OF_ELEMENTS(minimum)
HALYARD_OF_ELEMENTS(div_floor)
HALYARD_OF_ELEMENTS(mod_floor)
#undef HALYARD_OF_ELEMENTS

template<class To, class T>
To all_bits_as(const emulator::Element<T> &x) {
    static_assert(sizeof(To) == sizeof(T), "of one size");
    const T from = x;
    To to;
    __builtin_memcpy(&to, &from, sizeof(To));
    return to;
}
template<class To, class T>
To bits_as(const emulator::Element<T> &x) {
    return all_bits_as<To>(x);
}

template<int N, class T>
vec<T, N> broadcast(const emulator::Element<T> &x) {
    vec<T, N> v;
    for (int i = 0; i < N; i++) {
        v[i] = x;
    }
    return v;
}

template<int N, class P>
vec<emulator::element_of<P>, N> load(const P &p) {
    using T = emulator::element_of<P>;
    vec<T, N> v;
    emulator::read(p, &v, N * sizeof(T), emulator::alignment_of(N * sizeof(T)));
    return v;
}

/** Words are vectors here. */
template<int N, class P>
vec<emulator::element_of<P>, N> load_words(const P &p) {
    return load<N>(p);
}

/** 0 where the condition does not hold. */
template<int N, class P>
vec<emulator::element_of<P>, N> load_if(bool condition, const P &p) {
    return condition ? load<N>(p) : vec<emulator::element_of<P>, N>{};
}

template<int N, class P>
vec<emulator::element_of<P>, N> load_streaming(const P &p) {
    return load<N>(p);
}

template<class P, class T, int N>
void store(const P &p, const vec<T, N> &v) {
    emulator::write(p, &v, N * sizeof(T), emulator::alignment_of(N * sizeof(T)));
}

template<class P, class T, int N>
void store_streaming(const P &p, const vec<T, N> &v) {
    store(p, v);
}

template<int N, class T>
bool are_aligned(const global<T> &p) {
    return p.address() % (N * sizeof(T)) == 0;
}

template<int N, class P>
vec<emulator::element_of<P>, N> load_elements(const P &p) {
    vec<emulator::element_of<P>, N> v;
    for (int i = 0; i < N; i++) {
        v[i] = p[i];
    }
    return v;
}

template<int N, class P>
vec<emulator::element_of<P>, N> load_elements_if(bool condition, const P &p) {
    return condition ? load_elements<N>(p) : vec<emulator::element_of<P>, N>{};
}

template<class P, class T, int N>
void store_elements(const P &p, const vec<T, N> &v) {
    for (int i = 0; i < N; i++) {
        p[i] = v[i];
    }
}

template<class P, int N>
vec<emulator::element_of<P>, N> gather(const P &p, const vec<int, N> &index) {
    vec<emulator::element_of<P>, N> v;
    for (int i = 0; i < N; i++) {
        v[i] = p[index[i]];
    }
    return v;
}

template<class P, class T, int N>
void scatter(P &&p, const vec<int, N> &index, const vec<T, N> &v) {
    for (int i = 0; i < N; i++) {
        p[index[i]] = v[i];
    }
}

template<class P, int N>
vec<emulator::element_of<P>, N> gather_if(const vec<bool, N> &predicate, const P &p, const vec<int, N> &index) {
    vec<emulator::element_of<P>, N> v;
    for (int i = 0; i < N; i++) {
        if (predicate[i]) {
            v[i] = p[index[i]];
        } else {
            v[i] = emulator::element_of<P>();
        }
    }
    return v;
}

template<class P, class T, int N>
void scatter_if(const vec<bool, N> &predicate, P &&p, const vec<int, N> &index, const vec<T, N> &v) {
    for (int i = 0; i < N; i++) {
        if (predicate[i]) {
            p[index[i]] = v[i];
        }
    }
}

}  // namespace halyard

#endif
