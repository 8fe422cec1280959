#ifndef HALYARD_EXPLORE_WORKER_H
#define HALYARD_EXPLORE_WORKER_H

/** \file
 * What runs in a process of its own for one candidate: `halyard candidate JOB.json`. It says on standard output how far
 * it is ("phase check"), so that whoever finds it dead knows where, and at the end writes one line of JSON.
 */

#include <string>

#include <nlohmann/json.hpp>

namespace halyard::explore {

/** Builds: {step: "build", op, generator, script, params, set, target, lib_dirs, build_seconds, memory_bytes, library}
 * gives {status, message, params, library_bytes, seconds}.
 * Runs: {step: "run", op, shape, params, threads, run_seconds, memory_bytes, library, outputs, compare, best} gives a
 * Measured; without `compare` it writes the outputs to that file and times nothing. With `device` it is a CUDA kernel,
 * which is timed on the device. */
int run_worker(const std::string &job);

}  // namespace halyard::explore

#endif
