#ifndef HALYARD_COMMAND_HOST_CALLS_H
#define HALYARD_COMMAND_HOST_CALLS_H

/** \file
 * Calls of a kernel on the host, some a sample. On one thread it is the processor's time that counts: where others use the
 * machine, a long call is never left alone.
 */

#include <vector>

#include "kernel/turns.h"

namespace halyard {

struct HostCallOptions {
    int threads = 1;
    bool cold = false;               // the next set of arguments for every call; else one a sample
    double sample_seconds = 300e-6;  // at least, so that the time to read the clock does not count
};

class HostCalls : public Sampler {
public:
    /** `sets`: addresses of whole sets of arguments. The first calls load pages, caches and threads. */
    HostCalls(const CompiledKernel &kernel, std::vector<std::vector<void *>> sets, const HostCallOptions &options);

    double sample() override;
    void warm() override;
    const CallResult &result() const override {
        return result_;
    }
    double used() const override {
        return used_;
    }

private:
    double timed(int calls);

    const CompiledKernel &kernel_;
    std::vector<std::vector<void *>> sets_;
    const HostCallOptions options_;
    CallResult result_;
    size_t set_ = 0;
    double single_ = 0, used_ = 0;
    int calls_ = 1;
    bool fresh_ = true;  // what single_ says is no sample yet
};

}  // namespace halyard

#endif
