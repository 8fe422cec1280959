#include "command/naive_check.h"

#include <algorithm>

#include <fmt/format.h>

#include "explore/measure/outputs.h"
#include "explore/measure/reference.h"
#include "explore/measure/tolerance.h"
#include "kernel/failure.h"
#include "kernel/own_op.h"
#include "kernel/targets.h"

namespace halyard {

namespace {

constexpr double kUnknownFlops = 4096;  // an element of the output takes, as in a search

}  // namespace

NaiveSchedule::NaiveSchedule(GenerateRequest like, const Assignments &params) : op_(like.op), work_(temporary_root()) {
    explore::Task task;
    task.op = like.op;
    task.generator = like.generator;
    like.target = like.target.empty() || is_cuda(like.target) ? "host" : like.target;
    task.target = like.target;
    task.params = params;
    like.params = params;
    like.set.clear();
    like.schedule = explore::trusted_schedules(task, work_.path()).front().script;
    kernel_ = std::make_unique<CompiledKernel>(CompiledKernel::build(like));
}

Dims NaiveSchedule::whole_sizes(const Dims &given) const {
    return own_op(op_, *kernel_, given).own_sizes;
}

void NaiveSchedule::keep_outputs(const Dims &sizes) {
    if (!outputs_.empty() && sizes == sizes_) {
        return;
    }
    KernelArguments arguments = make_own_arguments(*kernel_, sizes, 1);
    const CallResult r = kernel_->call(arguments);
    if (!r.ok()) {
        throw Failure(fmt::format("{}: error: a call of these sizes: {}\n  say others with --shape", op_, r.message));
    }
    outputs_ = work_.path() + "/outputs";
    explore::write_outputs(outputs_, *kernel_, arguments);
    sizes_ = sizes;
}

void NaiveSchedule::check(const CompiledKernel &kernel, const std::string &name, const Dims &sizes) {
    keep_outputs(sizes);
    KernelArguments arguments = make_own_arguments(kernel, sizes, 1);
    const CallResult r = kernel.call(arguments);
    if (!r.ok()) {
        throw Failure(fmt::format("{}: error: {}", name, r.message));
    }
    const auto d = explore::compare_outputs(outputs_, kernel, arguments, explore::tolerance_of(op_, kernel, kUnknownFlops));
    if (!d.message.empty()) {
        throw Failure(fmt::format("{}: error: computes something else than the generator without a schedule: {}", name, d.message));
    }
}

}  // namespace halyard
