#ifndef HALYARD_EXPLORE_DEVICE_TIMER_H
#define HALYARD_EXPLORE_DEVICE_TIMER_H

/** \file
 * How long calls of a CUDA kernel take on the device: its arguments are there, several of each that are together more
 * than the L2 holds, and calls take turns with them, in a CUDA graph where they can be captured, so that what the host
 * does takes no time.
 */

#include <memory>

#include "explore/measure/call_timer.h"

namespace halyard::explore {

/** A kernel with its arguments in device memory. Errors of the driver come as Failure. */
class DeviceCalls : public Sampler {
public:
    DeviceCalls(const CompiledKernel &kernel, KernelArguments &arguments);
    ~DeviceCalls() override;

    /** By events of the device. */
    double sample() override;
    const CallResult &result() const override;
    double used() const override;

    /** Copies outputs of the last calls back. Whether a byte of them is another than it was. */
    bool fetch_outputs();

private:
    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
};

/** As time_calls(). `calls` keeps the outputs for a second check. */
CallTimes time_on_device(DeviceCalls &calls, double best);

/** As time_in_turns(). */
Contest time_in_turns_on_device(const std::vector<Timed> &kernels, const Timed &again, double seconds);

/** Bytes a second, read and written together, of a copy in the device's memory. Throws Failure. */
double copy_bandwidth();

}  // namespace halyard::explore

#endif
