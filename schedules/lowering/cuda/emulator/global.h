#ifndef HALYARD_EMULATOR_GLOBAL_H
#define HALYARD_EMULATOR_GLOBAL_H

/** \file
 * Arrays in device memory: every access is aligned, inside of a live allocation and, where the launcher has told of the
 * caller's buffer, between its first element and its last one. What is stored there are its elements alone: the gaps between
 * its rows are somebody else's. A load may read over a gap, as one of a whole vector does.
 */

#include "threads.h"

namespace halyard {
namespace emulator {

constexpr int alignment_of(int bytes) {
    return bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
}

/** The name of a parameter, where HALYARD_KERNEL has the names; else its place. */
inline void name_parameter(char *name, int size, int index) {
    const char *at = state.parameter_names;
    for (int i = 0; i < index && at; i++) {
        at = strchr(at, ',');
        at = at ? at + 1 : nullptr;
    }
    if (!at || !*at) {
        snprintf(name, size, "parameter %d", index);
        return;
    }
    at += strspn(at, " ");
    snprintf(name, size, "%.*s", int(strcspn(at, ", ")), at);
}

/** What an access does. Of an element by its index only the compiler knows. */
enum Access { kReads, kWrites, kEither };
inline const char *words_of(Access access) {
    return access == kReads ? "reads" : access == kWrites ? "writes" : "accesses";
}

template<class T>
struct remove_const {
    using type = T;
};
template<class T>
struct remove_const<const T> {
    using type = T;
};
template<class T>
constexpr Access kAccessByIndex = kEither;
template<class T>
constexpr Access kAccessByIndex<const T> = kReads;
template<class T>
using value_of = typename remove_const<T>::type;

inline int64_t floor_index(int64_t bytes, int size) {
    return bytes >= 0 ? bytes / size : -((-bytes + size - 1) / size);
}

/** What an array begins and ends with: the parameter's allocation or, in it, the caller's buffer. */
inline void bound(Array &a, const Region &region, uint64_t address, int parameter) {
    a.parameter = parameter;
    a.gaps = 0;
    a.begin = region.bytes;
    a.end = region.bytes + (region.end - region.begin);
    a.start = region.bytes + (address - region.begin);
    int64_t begin = 0, end = 0;
    if (address != 0 && state.launch->span(parameter, &begin, &end, &a.gaps)) {
        a.begin = a.start + begin > a.begin ? a.start + begin : a.begin;
        a.end = a.start + end < a.end ? a.start + end : a.end;
    }
}

__attribute__((noinline, noreturn)) inline void fail_outside(const Array &a, const char *at, int bytes, int size, Access access) {
    fail("%s outside of an array: %s, element %lld, %d bytes; it has the elements %lld to %lld", words_of(access), a.name,
         (long long)floor_index(at - a.start, size), bytes, (long long)floor_index(a.begin - a.start, size),
         (long long)floor_index(a.end - a.start, size) - 1);
}

/** Of an array with gaps. */
__attribute__((noinline)) inline void check_elements(const Array &a, const char *at, int bytes, int size, Access access) {
    char place[160];
    if (!state.launch->holds(a.parameter, at - a.start, bytes, place, sizeof(place))) {
        fail("%s between the elements of an array: %s, element %lld, %d bytes; %s", words_of(access), a.name,
             (long long)floor_index(at - a.start, size), bytes, place);
    }
}

__attribute__((noinline, noreturn)) inline void fail_aligned(const Array &a, const char *at, int size, int alignment, Access access) {
    fail("%s %d bytes at once that are not aligned: %s, element %lld", words_of(access), alignment, a.name,
         (long long)floor_index(at - a.start, size));
}

inline char *check_global(const Array *a, char *at, int bytes, int alignment, int size, Access access) {
    if (__builtin_expect(at < a->begin || at + bytes > a->end, 0)) {
        fail_outside(*a, at, bytes, size, access);
    }
    if (__builtin_expect(uintptr_t(at) % alignment != 0, 0)) {
        fail_aligned(*a, at, size, alignment, access);
    }
    if (__builtin_expect(access != kReads && a->gaps, 0)) {
        check_elements(*a, at, bytes, size, access);
    }
    return at;
}

}  // namespace emulator

/** An array in device memory: what a kernel has as a parameter, or a place in it. */
template<class T>
class global {
    const emulator::Array *array = nullptr;
    char *at = nullptr;
    template<class>
    friend class global;

public:
    using element = emulator::value_of<T>;
    global() = default;
    global(const emulator::Array *array, char *at) : array(array), at(at) {}
    operator global<const T>() const {
        return {array, at};
    }
    /** The same place with elements of another type. */
    template<class U>
    explicit operator global<U>() const {
        return {array, at};
    }
    uintptr_t address() const {
        return reinterpret_cast<uintptr_t>(at);
    }
    global operator+(int64_t i) const {
        return {array, at + i * int64_t(sizeof(T))};
    }
    global operator-(int64_t i) const {
        return *this + -i;
    }
    T &operator[](int64_t i) const {
        return *reinterpret_cast<T *>((*this + i).access(sizeof(T), sizeof(T), emulator::kAccessByIndex<T>));
    }
    T &operator*() const {
        return (*this)[0];
    }
    /** `bytes` of it, checked. */
    char *access(int bytes, int alignment, emulator::Access access) const {
        return emulator::check_global(array, at, bytes, alignment, sizeof(T), access);
    }
};

/** Loads of a kernel are in order anyhow. */
template<class T>
using global_in_order = global<T>;

}  // namespace halyard

#endif
