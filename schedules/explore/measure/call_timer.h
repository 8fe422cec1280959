#ifndef HALYARD_EXPLORE_CALL_TIMER_H
#define HALYARD_EXPLORE_CALL_TIMER_H

/** \file
 * How long a call takes, found out as quickly as the answer matters: one that is far from the best is timed for a moment.
 */

#include <vector>

#include "explore/measure/sampling.h"

namespace halyard::explore {

/** `best` is the least time known of others; 0 for none. The data stays where the last call left it. On one thread it is
 * the processor's time that counts: where others use the machine, a long call is never left alone. */
CallTimes time_calls(const CompiledKernel &kernel, KernelArguments &arguments, int threads, double best);

struct Timed {
    const CompiledKernel *kernel = nullptr;
    KernelArguments *arguments = nullptr;
};

/** All of them in turns (kernel/turns.h) until each had its seconds; one whose calls are long leaves after a few. `again` is
 * the first kernel with arguments of its own. */
Contest time_in_turns(const std::vector<Timed> &kernels, const Timed &again, int threads, double seconds);

}  // namespace halyard::explore

#endif
