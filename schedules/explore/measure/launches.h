#ifndef HALYARD_EXPLORE_LAUNCHES_H
#define HALYARD_EXPLORE_LAUNCHES_H

/** \file
 * What a library for CUDA launches at a size, found out without a device: it is called over a driver that writes down what
 * it is asked for (launch_recorder.h), in a process of its own.
 */

#include <string>
#include <vector>

#include "explore/measure/candidate_process.h"
#include "explain/explain_device.h"
#include "kernel/failure.h"

namespace halyard::explore {

struct Launches {
    std::vector<Launch> launches;  // of one call, in order
    std::string sizes;             // of all arguments, as the plugin takes them: "x:4096x64,y:4096x64"
    double argument_bytes = 0;     // of them all
    double allocated = 0;          // bytes of device memory that the call allocates
    std::string type, shape;       // of the output; of the call, as a user writes it
};

/** A library answered with an error. */
class RefusedCall : public Failure {
public:
    RefusedCall(int c, const std::string &message) : Failure(message), code(c) {}

    const int code;
};

/** Launches of a built candidate on such a device. Throws RefusedCall, or Failure where it did not come to an answer. */
Launches recorded_launches(const Task &task, const Built &built, const GpuFigures &gpu);

/** In the worker: calls the library of the job, and says what came. */
nlohmann::json record_launches(const nlohmann::json &job);

}  // namespace halyard::explore

#endif
