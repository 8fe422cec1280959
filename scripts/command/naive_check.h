#ifndef HALYARD_COMMAND_NAIVE_CHECK_H
#define HALYARD_COMMAND_NAIVE_CHECK_H

/** \file
 * Schedules of one's own generator held against its naive schedule, before they are timed: no test of ours knows what it computes.
 */

#include <memory>
#include <string>

#include "kernel/arithmetic.h"
#include "kernel/kernel.h"
#include "kernel/process.h"

namespace halyard {

/** Every Func of a generator at the root, without a split or a vector. */
class NaiveSchedule {
public:
    /** Builds it for the host with these parameters of the generator. Throws Failure where that does not go. */
    NaiveSchedule(GenerateRequest like, const Assignments &params);

    /** Of all arrays, where some are given (own_op.h). */
    Dims whole_sizes(const Dims &given) const;

    /** Throws Failure where the kernel computes something else at these sizes (own_op.h). */
    void check(const CompiledKernel &kernel, const std::string &name, const Dims &sizes);

private:
    void keep_outputs(const Dims &sizes);

    const std::string op_;
    TemporaryDirectory work_;
    std::unique_ptr<CompiledKernel> kernel_;
    std::string outputs_;  // of the sizes that were asked last
    Dims sizes_;
};

}  // namespace halyard

#endif
