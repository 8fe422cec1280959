#include "explore/measure/worker.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <new>
#include <optional>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "explore/measure/call_timer.h"
#include "kernel/cpu.h"
#include "explore/measure/device_timer.h"
#include "kernel/failure.h"
#include "kernel/json_text.h"
#include "explore/measure/launches.h"
#include "explore/measure/outputs.h"
#include "kernel/process.h"
#include "kernel/strict_memory.h"
#include "language/script.h"
#include "explore/task.h"
#include "kernel/text.h"
#include "kernel/own_op.h"
#include "kernel/workload.h"

namespace halyard::explore {

namespace {

using nlohmann::json;

void say(const std::string &line) {
    fmt::print("{}\n", line);
    std::fflush(stdout);  // it may be the last thing that this process does
}

// For good; of processor time there is a second to say so in.
void limit(int resource, rlim_t value, rlim_t grace = 0) {
    rlimit r = {};
    if (getrlimit(static_cast<__rlimit_resource>(resource), &r) == 0) {
        r.rlim_max = std::min(value + grace, r.rlim_max);
        r.rlim_cur = std::min(value, r.rlim_max);
        setrlimit(static_cast<__rlimit_resource>(resource), &r);
    }
}

// Generator and linker inherit them. Processor time is what stops a compile that nobody is left to stop.
void limit_ourselves(const json &job, double seconds) {
    bind_children();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, rlim_t(seconds) + 2, 1);
#if !defined(__SANITIZE_ADDRESS__)  // which reserves terabytes of addresses, as a CUDA driver does
    if (!job.value("device", false)) {
        limit(RLIMIT_AS, job.at("memory_bytes").get<rlim_t>());
    }
#else
    (void)job;
#endif
}

Status status_of_build(const std::string &message) {
    const auto has = [&](const char *part) { return message.find(part) != std::string::npos; };
    if (has("bad_alloc") || has("out of memory") || has("annot allocate memory") || has("failed to map segment") ||
        has("memory exhausted")) {
        return Status::kOutOfMemory;
    }
    if (has("ran longer than") || has(fmt::format("ended by signal {}", SIGXCPU).c_str())) {
        return Status::kTimeout;
    }
    return has("was ended by signal") ? Status::kCrash : Status::kBuildError;
}

json build(const json &job) {
    limit_ourselves(job, job.at("build_seconds"));
    GenerateRequest request;
    request.op = job.at("op");
    request.generator = job.at("generator");
    request.schedule = job.at("script");
    request.target = job.at("target");
    request.params = job.at("params").get<Assignments>();
    request.set = job.at("set").get<Assignments>();
    request.lib_dirs = job.at("lib_dirs").get<std::vector<std::string>>();
    request.timeout = job.at("build_seconds");
    json result = {{"status", status_name(Status::kOk)}, {"message", ""}};
    try {
        const Plan plan = make_plan(request);
        result["params"] = plan.params;
        result["library_bytes"] = build_shared_object(plan, job.at("library"));
    } catch (const ScriptError &e) {
        result["message"] = e.what();
    } catch (const Failure &e) {
        result["message"] = e.what();
    } catch (const UsageError &e) {
        result["message"] = e.what();
    }
    if (!result.contains("library_bytes")) {
        result["status"] = status_name(status_of_build(result["message"]));
    }
    return result;
}

// What the registry knows of the op, or the generator says of itself.
struct Work {
    explicit Work(const json &job, const CompiledKernel &kernel) : arguments(kernel) {
        const std::string name = job.at("op");
        const auto ops = op_names();
        const Dims shape = job.at("shape").get<Dims>();
        double flops = 0;
        if (std::find(ops.begin(), ops.end(), name) == ops.end() || shape.empty() || !job.value("generator", "").empty()) {
            arguments = make_own_arguments(kernel, shape, 1);
        } else {
            const Op &op = find_op(name);
            const Dims dims = with_params(op, shape, job.at("params").get<Assignments>());
            arguments = make_arguments(op, kernel, dims, 1);
            flops = flops_of(op, dims);
        }
        size_t elements = 0;
        for (const auto &a : kernel.arguments()) {
            elements += a.is_output ? arguments.buffer(a.name).size() : 0;
        }
        constexpr double kUnknown = 4096;
        tolerance =
            tolerance_of(name, kernel, flops > 0 ? flops / double(std::max<size_t>(elements, 1)) : kUnknown, job.value("floats", false));
    }

    KernelArguments arguments;
    Tolerance tolerance;
};

// Memory of the host around which something was stored; "" where nothing was.
std::string stored_around(const CompiledKernel &kernel, Work &work) {
    for (const auto &a : kernel.arguments()) {
        if (a.is_buffer && !work.arguments.buffer(a.name).surroundings_intact()) {
            return fmt::format("{}: it was stored to where none of its elements is", a.name);
        }
    }
    return "";
}

// Whether the outputs are right; where not, the result says so.
bool check(const json &job, const CompiledKernel &kernel, Work &work, Measured &m) {
    Difference d = compare_outputs(job.at("outputs"), kernel, work.arguments, work.tolerance);
    m.error = std::min(std::max(m.error, d.error), 1e30);
    d.message = d.message.empty() ? stored_around(kernel, work) : d.message;
    if (!d.message.empty()) {
        m.status = Status::kWrongResult;
        m.message = d.message;
    }
    return d.message.empty();
}

// What nobody has stored shows in the result, or ends the process; a device has memory of its own.
CallResult first_call(const json &job, const CompiledKernel &kernel, Work &work) {
    std::optional<StrictMemory> strict;
    if (!job.value("device", false)) {
        strict.emplace(kernel);
    }
    return kernel.call(work.arguments);
}

void set_times(const CallTimes &times, Measured &m) {
    if (!times.result.ok()) {
        m.refuse(times.result.code, times.result.message);
        return;
    }
    m.least = times.least;
    m.lower = times.lower;
    m.median = times.median;
    m.upper = times.upper;
    m.samples = times.samples;
    m.whole = times.whole;
}

// Of all threads together. A driver waits busily, and the emulator has threads of its own.
double processor_seconds(const json &job) {
    const int threads = job.value("device", false) ? std::max(cpu().processors, 2) : job.at("threads").get<int>();
    return job.at("run_seconds").get<double>() * threads;
}

// Times, and checks again what the last call left: threads that race do not always lose.
void time_and_check(const json &job, const CompiledKernel &kernel, Work &work, Measured &m) {
    say("phase time");
    if (!job.value("device", false)) {
        set_times(time_calls(kernel, work.arguments, job.at("threads"), job.at("best")), m);
        if (m.ok()) {
            say("phase check");
            check(job, kernel, work, m);
        }
        return;
    }
    DeviceCalls calls(kernel, work.arguments);
    set_times(time_on_device(calls, job.at("best")), m);
    if (m.ok() && calls.fetch_outputs()) {
        say("phase check");
        check(job, kernel, work, m);
    }
}

Measured run(const json &job) {
    const double seconds = job.at("run_seconds");
    limit_ourselves(job, processor_seconds(job));
    alarm(unsigned(seconds) + 1);  // ends a loop that never ends
    say("phase load");
    Measured m;
    m.status = Status::kOk;
    const CompiledKernel kernel = CompiledKernel::load(job.at("library"), job.at("op"));
    kernel.set_threads(job.at("threads"));
    Work work(job, kernel);
    say("phase check");
    const CallResult first = first_call(job, kernel, work);
    if (!first.ok()) {
        m.refuse(first.code, first.message);
        return m;
    }
    if (!job.at("compare").get<bool>()) {
        write_outputs(job.at("outputs"), kernel, work.arguments);
        return m;
    }
    if (!check(job, kernel, work, m)) {
        return m;
    }
    time_and_check(job, kernel, work, m);
    return m;
}

// Several that were checked before.
json turns(const json &job) {
    limit_ourselves(job, processor_seconds(job));
    alarm(unsigned(job.at("run_seconds").get<double>()) + 1);
    say("phase load");
    std::vector<CompiledKernel> kernels;
    kernels.reserve(job.at("kernels").size());
    std::vector<Work> work;
    const auto arguments_of = [&](const json &k, const CompiledKernel &kernel) {
        json own = job;
        own["params"] = k.at("params");
        work.emplace_back(own, kernel);
    };
    for (const json &k : job.at("kernels")) {
        kernels.push_back(CompiledKernel::load(k.at("library"), job.at("op")));
        kernels.back().set_threads(job.at("threads"));
        arguments_of(k, kernels.back());
    }
    arguments_of(job.at("kernels").at(0), kernels.front());
    std::vector<Timed> timed;
    for (size_t i = 0; i < kernels.size(); i++) {
        timed.push_back({&kernels[i], &work[i].arguments});
    }
    say("phase time");
    const Timed again = {&kernels.front(), &work.back().arguments};
    return {{"turns", to_json(job.value("device", false) ? time_in_turns_on_device(timed, again, job.at("seconds"))
                                                         : time_in_turns(timed, again, job.at("threads"), job.at("seconds")))}};
}

// Of launches or of a copy: no candidate's, so that what goes wrong is the job's.
json look(const json &job) {
    limit_ourselves(job, job.at("run_seconds"));
    if (job.at("step") == "launches") {
        return record_launches(job);
    }
    return {{"bytes_a_second", copy_bandwidth()}};
}

}  // namespace

int run_worker(const std::string &path) {
    const json job = parse_json(read_file(path));
    const auto replace = json::error_handler_t::replace;
    try {
        const std::string step = job.at("step");
        const json result = step == "build" ? build(job) : step == "turns" ? turns(job) : step == "run" ? to_json(run(job)) : look(job);
        say(result.dump(-1, ' ', false, replace));
    } catch (const std::bad_alloc &) {
        say(json{{"status", status_name(Status::kOutOfMemory)}, {"message", "out of memory"}}.dump());
    } catch (const Failure &e) {
        const std::string message = e.what();
        const bool memory =
            message.find("out of memory") != std::string::npos || message.find("annot allocate memory") != std::string::npos;
        const Status status = memory ? Status::kOutOfMemory : Status::kCrash;
        say(json{{"status", status_name(status)}, {"message", message}}.dump(-1, ' ', false, replace));
    }
    std::fflush(stdout);
    _exit(0);  // a kernel that left threads or memory in a bad state is not asked to clean up
}

}  // namespace halyard::explore
