#ifndef HALYARD_EMULATOR_COPIES_H
#define HALYARD_EMULATOR_COPIES_H

/** \file
 * Asynchronous copies of threads (cp.async): nothing arrives before it is waited for.
 */

#include "global.h"
#include "shared.h"

namespace halyard {

template<int Bytes, class To, class From>
void copy_async(const shared<To> &to, const global<From> &from) {
    static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async copies 4, 8 or 16 bytes");
    using namespace emulator;
    Thread &me = *state.current;
    const SharedAccess a = to.access(Bytes, Bytes);
    const char *source = from.access(Bytes, Bytes, false);
    check_write(a, nullptr, false);
    memset(state.shared_memory + a.at, 0xff, Bytes);
    for (int i = 0; i < Bytes; i++) {
        state.cells[a.at + i].state = kCopying;
        state.cells[a.at + i].writer = uint16_t(me.number);
    }
    if (me.copies_size == me.copies_room) {
        me.copies_room = me.copies_room ? 2 * me.copies_room : 16;
        me.copies = static_cast<Copy *>(realloc(me.copies, me.copies_room * sizeof(Copy)));
    }
    me.copies[me.copies_size++] = {a.at, source, Bytes, me.groups};
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
        memcpy(state.shared_memory + c.to, c.from, c.bytes);
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

}  // namespace halyard

#endif
