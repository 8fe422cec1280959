#ifndef HALYARD_LOWERING_CUDA_LAUNCH_WAIT_H
#define HALYARD_LOWERING_CUDA_LAUNCH_WAIT_H

/** \file
 * Where a kernel waits for the last one of its stream, beside which it may begin (sm_90), and where it lets the next one begin. Before it waits it has:
 *
 * What it reads of inputs that no kernel writes meanwhile (`halyard build --constant`), and what is computed in registers of these alone. The
 * next kernel begins at once then, as it may have some to read as well, and the one after it; each of them waits for the one before:
 *
 *   w_f = f(w); sum += w_f * x          ->          start_next(); w_f = f(w); wait_for_last(); sum += w_f * x
 *
 * Its other arrays are then marked as read in order, as the compiler moves loads of arrays that the kernel does not write over the wait; and so are
 * inputs that may be an output, as they have its type.
 *
 * What is asked for from memory into the L2 cache (the word prefetch_at_launch). That is right whoever writes it: the L2 cache is where all
 * of a device's kernels write to.
 *
 *   for t: s += w[t] * x[t]             ->          for t < turns: prefetch w[t]; wait_for_last(); start_next(); for t: s += w[t] * x[t]
 */

#include <map>
#include <set>
#include <string>

#include "lowering/cuda/extract/kernel.h"

namespace halyard {

/** What is said of inputs. */
struct BeforeWait {
    std::map<std::string, int> prefetched;  // so many turns of each loop around a load
    std::set<std::string> constant;
    bool next_at_once = true;  // whatever comes next waits for this kernel, and need not begin behind the last one
};

/** The calls in the body. Of a prefetch: a Load of an element of the line. */
extern const char *const kPrefetchL2, *const kWaitForLast, *const kStartNext;

/** Puts prefetches and the wait into what a kernel does. Loads whose place or condition is computed of data are not prefetched. */
void wait_for_last(Kernel &kernel, const BeforeWait &inputs);

}  // namespace halyard

#endif
