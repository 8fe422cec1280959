#include "explore/measure/launches.h"

#include <cstdlib>

#include <dlfcn.h>
#include <fmt/format.h>

#include "kernel/failure.h"
#include "explain/launch_recorder.h"
#include "kernel/own_op.h"
#include "kernel/paths.h"
#include "kernel/workload.h"

namespace halyard::explore {

namespace {

using nlohmann::json;

json to_json(const Launch &l) {
    json j = {{"kernel", l.kernel}, {"grid", l.grid}, {"block", l.block}, {"shared_bytes", l.shared_bytes}};
    if (l.resources) {
        j["resources"] = {{"registers", l.resources->registers},
                          {"shared_bytes", l.resources->shared_bytes},
                          {"stack_bytes", l.resources->stack_bytes},
                          {"code_bytes", l.resources->code_bytes}};
    }
    return j;
}

Launch launch_from_json(const json &j) {
    Launch l;
    l.kernel = j.at("kernel");
    l.grid = j.at("grid");
    l.block = j.at("block");
    l.shared_bytes = j.at("shared_bytes");
    if (j.contains("resources")) {
        const json &r = j.at("resources");
        l.resources = KernelResources{r.at("registers"), r.at("shared_bytes"), r.at("stack_bytes"), r.at("code_bytes")};
    }
    return l;
}

}  // namespace

json record_launches(const json &job) {
    const std::string recorder = require_piece(paths().recorder, "the driver that records launches");
    setenv("HALYARD_CUDA_DRIVER", recorder.c_str(), 1);
    setenv("HALYARD_RECORDER_CAPABILITY", std::to_string(job.at("capability").get<int>()).c_str(), 1);
    setenv("HALYARD_RECORDER_MULTIPROCESSORS", std::to_string(job.at("multiprocessors").get<int>()).c_str(), 1);
    void *const driver = dlopen(recorder.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!driver) {
        throw Failure(fmt::format("{}: error: {}", recorder, dlerror()));
    }
    const auto recorded = reinterpret_cast<decltype(&halyard_recorded_launches)>(dlsym(driver, "halyard_recorded_launches"));
    const auto memory = reinterpret_cast<decltype(&halyard_recorded_memory)>(dlsym(driver, "halyard_recorded_memory"));

    const CompiledKernel kernel = CompiledKernel::load(job.at("library"), job.at("op"));
    const Dims shape = job.at("shape").get<Dims>();
    const Op op = job.at("generator").get<std::string>().empty() ? find_op(job.at("op")) : own_op(job.at("op"), kernel, shape);
    const Dims dims = with_params(op, shape, job.at("params").get<Assignments>());
    KernelArguments arguments = make_arguments(op, kernel, dims, 1, false);
    size_t before = 0, count = 0;
    recorded(&before);  // finding out how large an argument is launches nothing
    const CallResult result = kernel.call(arguments.addresses().data());
    const HalyardLaunch *launches = recorded(&count);
    json all = json::array();
    for (size_t i = before; i < count; i++) {
        Launch l;
        l.kernel = launches[i].kernel;
        for (size_t d = 0; d < 3; d++) {
            l.grid[d] = int(launches[i].grid[d]);
            l.block[d] = int(launches[i].block[d]);
        }
        l.shared_bytes = int(launches[i].shared_bytes);
        const auto resources = resources_of(launches[i].image, job.at("capability"));
        if (const auto r = resources.find(l.kernel); r != resources.end()) {
            l.resources = r->second;
        }
        all.push_back(to_json(l));
    }
    const double of_arguments = double(arguments.bytes());
    return {{"error", result.ok() ? "" : result.message},
            {"code", result.code},
            {"launches", all},
            {"argument_bytes", of_arguments},
            {"sizes", sizes_text(op, dims, kernel, arguments)},
            {"type", type_of(kernel)},
            {"shape", shape_text(op, shape)},
            {"allocated", std::max(0.0, double(memory()) - of_arguments)}};
}

Launches recorded_launches(const Task &task, const Built &built, const GpuFigures &gpu) {
    constexpr double kSeconds = 60;
    Measured failed;
    const json result = run_step(built.directory,
                                 {{"step", "launches"},
                                  {"op", task.op},
                                  {"generator", task.generator},
                                  {"shape", task.shape},
                                  {"params", built.params},
                                  {"run_seconds", kSeconds},
                                  {"capability", gpu.capability},
                                  {"device", true},
                                  {"threads", 1},
                                  {"multiprocessors", gpu.multiprocessors},
                                  {"library", built.library()}},
                                 kSeconds, failed);
    if (result.is_object() && result.contains("error") && result.at("error") != "") {
        throw RefusedCall(result.at("code"), result.at("error"));
    }
    const std::string why = !result.is_object()        ? failed.message
                            : result.contains("error") ? ""
                                                       : result.value("message", "it says nothing");
    if (!why.empty()) {
        throw Failure(fmt::format("{}: error: what it launches is not known: {}", task.op, why));
    }
    Launches l;
    for (const json &one : result.at("launches")) {
        l.launches.push_back(launch_from_json(one));
    }
    l.sizes = result.at("sizes");
    l.argument_bytes = result.at("argument_bytes");
    l.allocated = result.at("allocated");
    l.type = result.at("type");
    l.shape = result.at("shape");
    return l;
}

}  // namespace halyard::explore
