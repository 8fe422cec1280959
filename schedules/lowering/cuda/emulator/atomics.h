#ifndef HALYARD_EMULATOR_ATOMICS_H
#define HALYARD_EMULATOR_ATOMICS_H

/** \file
 * Atomic updates of memory.
 */

#include "global.h"
#include "shared.h"

namespace halyard {

namespace emulator {

// The emulator runs one thread at a time: atomic is what it all is. What is checked is that a place in
// shared memory is either atomic to all or to none between two barriers.
template<class T, class F>
T update(const shared<T> &p, F f) {
    const SharedAccess a = p.access(sizeof(T), sizeof(T));
    T old;
    read_shared(a, &old, true);
    const T value = f(old);
    check_write(a, nullptr, true);
    memcpy(state.shared_memory + a.at, &value, sizeof(T));
    return old;
}
template<class T, class F>
T update(const global<T> &p, F f) {
    T &place = p[0];
    const T old = place;
    place = f(old);
    return old;
}
template<class T, class F>
T update(T *p, F f) {
    const T old = *p;
    *p = f(old);
    return old;
}

}  // namespace emulator

#define HALYARD_ATOMIC(NAME, VALUE)                                                                                                        \
    template<class P, class V>                                                                                                             \
    auto NAME(const P &p, V v) {                                                                                                           \
        return emulator::update(p, [v](auto old) { return decltype(old)(VALUE); });                                                        \
    }
HALYARD_ATOMIC(atomicAdd, old + v)
HALYARD_ATOMIC(atomicSub, old - v)
HALYARD_ATOMIC(atomicMin, v < old ? v : old)
HALYARD_ATOMIC(atomicMax, old < v ? v : old)
HALYARD_ATOMIC(atomicAnd, old &v)
HALYARD_ATOMIC(atomicOr, old | v)
HALYARD_ATOMIC(atomicXor, old ^ v)
HALYARD_ATOMIC(atomicExch, v)
#undef HALYARD_ATOMIC

template<class P, class V, class W>
auto atomicCAS(const P &p, V expected, W v) {
    return emulator::update(p, [expected, v](auto old) { return old == decltype(old)(expected) ? decltype(old)(v) : old; });
}

inline void __threadfence() {}
inline void __threadfence_block() {}

}  // namespace halyard

#endif
