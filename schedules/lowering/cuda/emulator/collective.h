#ifndef HALYARD_EMULATOR_COLLECTIVE_H
#define HALYARD_EMULATOR_COLLECTIVE_H

/** \file
 * Operations that all threads of a warp or a warpgroup do together.
 */

#include "shared.h"

namespace halyard {
namespace emulator {

constexpr int kWarpgroup = 128;

/** Waits for `count` threads from `first` on with the same operation; the last of them does it for all, and they go on
 * where it says so. */
template<class Argument>
void together(const char *operation, int first, int count, Argument *argument, bool (*act)(Thread *threads)) {
    Thread &me = *state.current;
    if (first + count > state.thread_count) {
        fail("%s takes %d threads from %d on, and the block has %d", operation, count, first, state.thread_count);
    }
    me.operation = operation;
    me.object = first;
    me.value = reinterpret_cast<uintptr_t>(act);
    me.argument = argument;
    me.state = Thread::waits;
    Thread *const all = state.threads + first;
    for (int i = count - 1; i >= 0; i--) {  // the last one comes last: all others look at it alone
        if (all[i].state != Thread::waits || all[i].operation != operation || all[i].value != me.value) {
            leave();
            return;
        }
    }
    if (!act(all)) {
        leave();
        return;
    }
    for (int i = 0; i < count; i++) {
        all[i].state = Thread::ready;
        all[i].object = -1;
    }
}

template<class Argument>
Argument &argument_of(const Thread &t) {
    return *static_cast<Argument *>(t.argument);
}

}  // namespace emulator
}  // namespace halyard

#endif
