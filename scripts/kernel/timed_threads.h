#ifndef HALYARD_COMMAND_TIMED_THREADS_H
#define HALYARD_COMMAND_TIMED_THREADS_H

/** \file
 * The same work on some threads at once, timed.
 */

#include <functional>

namespace halyard {

/** Runs `body(thread)` on threads of their own, which start together; the seconds from the first start to the
 * last end. `prepare(thread)` runs before, on the same thread. */
double timed_threads(
    int threads, const std::function<void(int)> &body, const std::function<void(int)> &prepare = [](int) {});

}  // namespace halyard

#endif
