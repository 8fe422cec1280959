#ifndef HALYARD_LOWERING_CUDA_FETCH_H
#define HALYARD_LOWERING_CUDA_FETCH_H

/** \file
 * Copies into shared memory that no thread waits for until it needs them (cp.async), by the word fetch.
 *
 *   for t: s[slot(t)] = x[t]; barrier; consume s          -- slots: Halide's ring_buffer
 *     ->
 *   for t < ahead: copy_async(s[slot(t)], x[t]); commit
 *   for t: wait for group t; barrier; copy_async(s[slot(t + ahead)], x[t + ahead]); commit; consume s
 *
 * With ahead + 1 slots the one barrier of an iteration is enough: what is overwritten in iteration t was read in iteration t - 1.
 * What is fetched 0 iterations ahead is copied where it stood, and waited for at once: several such copies, and all of their bytes,
 * are under way together. select(c, x[t], 0) is a copy, too.
 *
 * Memory is busy as soon as a multiprocessor has some 64 KiB under way, which it has not while threads wait for each load. Decode
 * attention comes near the speed of memory so, where blocks of keys are small enough that several blocks fit a multiprocessor.
 */

#include <functional>
#include <map>
#include <string>

#include "lowering/cuda/extract/kernel.h"

namespace halyard {

/** How many iterations ahead which Func is fetched. */
using Fetched = std::map<std::string, int>;

/** Rewrites a body whose aligned vectors are marked. A copy that is not of 4, 8 or 16 aligned bytes at once stays as it is.
 * `fail` throws; it takes the name of the Func and the message. */
void fetch_ahead(Kernel &kernel, const Fetched &fetched,
                 const std::function<void(const std::string &func, const std::string &message)> &fail);

/** The calls in the body. Of a copy: a Load of where it goes to, one of where it comes from, and the
 * condition without which it is of zeros. Of the wait: the groups that
 * may still be under way. */
extern const char *const kCopyAsync, *const kCopyCommit, *const kCopyWait;

}  // namespace halyard

#endif
