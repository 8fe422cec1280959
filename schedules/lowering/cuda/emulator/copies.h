#ifndef HALYARD_EMULATOR_COPIES_H
#define HALYARD_EMULATOR_COPIES_H

/** \file
 * Asynchronous copies of threads (cp.async): nothing arrives before it is waited for.
 */

#include "global.h"
#include "shared.h"

namespace halyard {

namespace emulator {

/** The first `valid` bytes come from there, the rest as 0. */
template<class To, class From>
void copy_later(const shared<To> &to, const global<From> &from, int bytes, int valid) {
    Thread &me = *state.current;
    const SharedAccess a = to.access(bytes, bytes);
    const char *source = valid > 0 ? from.access(valid, bytes, kReads) : nullptr;
    check_write(a, nullptr, false);
    memset(state.shared_memory + a.at, 0xff, bytes);
    for (int i = 0; i < bytes; i++) {
        state.cells[a.at + i].state = kCopying;
        state.cells[a.at + i].writer = uint16_t(me.number);
    }
    if (me.copies_size == me.copies_room) {
        me.copies_room = me.copies_room ? 2 * me.copies_room : 16;
        me.copies = static_cast<Copy *>(realloc(me.copies, me.copies_room * sizeof(Copy)));
    }
    me.copies[me.copies_size++] = {a.at, source, bytes, valid, me.groups};
}

}  // namespace emulator

template<int Bytes, class To, class From>
void copy_async(const shared<To> &to, const global<From> &from, bool condition = true) {
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async copies 4, 8 or 16 bytes");
    emulator::copy_later(to, from, Bytes, condition ? Bytes : 0);
}

/** 16 bytes, of which the first `valid` come from device memory and the rest as 0. */
template<class To, class From>
void copy_async_part(const shared<To> &to, const global<From> &from, int valid) {
    emulator::copy_later(to, from, 16, valid);
}

inline void copy_async_commit() {
    emulator::state.current->groups++;
}

/** Waits until all but the last N groups of this thread have arrived. */
template<int N>
void copy_async_wait() {
    using namespace emulator;
    Thread &me = *state.current;
    const uint32_t now = my_time();
    int arrived = 0;
    while (arrived < me.copies_size && me.copies[arrived].group < me.groups - N) {
        const Copy &c = me.copies[arrived++];
        memset(state.shared_memory + c.to, 0, c.bytes);
        if (c.valid > 0) {
            memcpy(state.shared_memory + c.to, c.from, c.valid);
        }
        for (int i = 0; i < c.bytes; i++) {
            Cell &cell = state.cells[c.to + i];
            cell.state = kPlain;
            cell.block = state.block;
            cell.write_epoch = state.epoch;
            cell.write_time = now;
            cell.writer = uint16_t(me.number);
            cell.atomic = 0;
        }
    }
    me.copies_size -= arrived;
    memmove(me.copies, me.copies + arrived, me.copies_size * sizeof(Copy));
}

inline void copy_async_wait_all() {
    copy_async_commit();
    copy_async_wait<0>();
}

}  // namespace halyard

#endif
