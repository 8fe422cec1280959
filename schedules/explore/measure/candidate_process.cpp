#include "explore/measure/candidate_process.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "kernel/confine.h"
#include "kernel/cpu.h"
#include "kernel/failure.h"
#include "kernel/json_text.h"
#include "kernel/kernel.h"
#include "kernel/paths.h"
#include "kernel/process.h"
#include "kernel/schedules.h"
#include "kernel/targets.h"
#include "kernel/text.h"

namespace halyard::explore {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// What a worker said before it ended.
struct Said {
    std::string phase;
    json result;  // null where it did not get that far
};

Said said(const std::string &out) {
    Said s;
    const std::string phase = "phase ";
    for (const auto &line : split(out, '\n')) {
        if (starts_with(line, phase)) {
            s.phase = line.substr(phase.size());
        } else if (line[0] == '{') {
            s.result = parse_if_json(line);
        }
    }
    return s;
}

// Of a process in which a candidate runs, which may say anything.
Measured not_understood() {
    Measured m;
    m.status = Status::kCrash;
    m.message = "what its process says is not understood";
    return m;
}

Measured measured_of(const json &said) {
    try {
        return measured_from_json(said);
    } catch (const std::exception &) {
        return not_understood();
    }
}

// A worker that died, in words.
void blame_end(const ProcessResult &r, const std::string &phase, double seconds, Measured &m) {
    const std::string doing = phase.empty()      ? "while it was built"
                              : phase == "load"  ? "while it was loaded"
                              : phase == "check" ? "in its first call"
                                                 : "while it was timed";
    const bool memory = r.err.find("bad_alloc") != std::string::npos || r.err.find("out of memory") != std::string::npos;
    if (r.timed_out || r.signal == SIGALRM || r.signal == SIGXCPU) {
        m.status = Status::kTimeout;
        m.message = fmt::format("ran longer than {:g} s {}", seconds, doing);
    } else if (memory || r.signal == SIGKILL) {
        m.status = Status::kOutOfMemory;
        m.message = fmt::format("ran out of memory {}", doing);
    } else {
        m.status = Status::kCrash;
        m.message = fmt::format("the process {} {}", describe_end(r, seconds), doing);
        const std::string detail = trim(r.err);
        m.message += detail.empty() ? "" : "\n  " + detail.substr(0, 2000);
    }
}

// A message about a candidate's file, which is gone when somebody reads it.
std::string without_directory(std::string text, const std::string &directory) {
    const std::string prefix = directory + "/";
    for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at)) {
        text.erase(at, prefix.size());
    }
    return text;
}

// A candidate that runs needs its library and its own folder. The step that builds starts the compiler, which is confined
// by itself (generator_run.cpp), and the linker.
std::optional<Confinement> confinement(const std::string &command, const std::string &directory, const json &job) {
    // The driver of a real device answers error 304 under either half of the profile.
    const bool driver = job.value("device", false) && job.at("step") != "launches" && !std::getenv("HALYARD_CUDA_DRIVER");
    if (job.at("step") == "build" || driver) {
        return std::nullopt;
    }
    Confinement c = confinement_of(command, {});
    c.writes = {directory};
    c.device = job.value("device", false);
    c.reads.push_back((fs::path(paths().root) / "CMakeCache.txt").string());  // says where the pieces are
    c.reads.push_back(paths().recorder);
    if (const char *given = std::getenv("HALYARD_CUDA_DRIVER")) {
        c.reads.push_back(given);
    }
    const auto read_library = [&](const std::string &path) {
        c.reads.push_back(path);
        c.reads.push_back(runtime_beside(path));
    };
    read_library(job.value("library", directory));
    for (const json &k : job.value("kernels", json::array())) {
        read_library(k.at("library"));
    }
    if (const std::string outputs = job.value("outputs", ""); !outputs.empty()) {
        // Those of a schedule that is trusted are made, beside the candidates.
        const bool made = !job.at("compare").get<bool>();
        (made ? c.writes : c.reads).push_back(made ? fs::path(outputs).parent_path().string() : outputs);
    }
    return c;
}

}  // namespace

json run_step(const std::string &directory, const json &job, double seconds, Measured &m) {
    const std::string file = fmt::format("{}/{}.json", directory, job.at("step").get<std::string>());
    write_file(file, job.dump());
    const fs::path command = fs::path(paths().root) / "bin/halyard";
    ProcessOptions options;
    options.timeout = seconds + 10;  // it stops itself before
    options.end_group = true;
    const std::vector<std::string> words = {require_piece(command.string(), "the command itself"), "candidate", file};
    const auto confined = confinement(words[0], directory, job);
    const ProcessResult r = confined ? run_confined(words, options, *confined) : run_process(words, options);
    const Said s = said(r.out);
    if (!r.ok() || !s.result.is_object()) {
        blame_end(r, job.at("step") == "build" ? "" : s.phase.empty() ? "load" : s.phase, seconds, m);
        return nullptr;
    }
    return s.result;
}

Built build_candidate(const Task &task, const std::string &directory, const std::string &script, const Candidate &c, double seconds) {
    Built b;
    b.directory = directory;
    fs::create_directories(directory);
    Assignments params = task.params;
    for (const auto &p : c.params) {
        params[p.first] = p.second;
    }
    std::string file = script.empty() && c.own ? kNoSchedule : script;
    if (file.empty()) {
        file = fmt::format("{}/{}.lua", directory, task.op);
        write_file(file, c.lua);
    }
    const auto begin = Clock::now();
    const json result = run_step(directory,
                                 {{"step", "build"},
                                  {"op", task.op},
                                  {"generator", task.generator},
                                  {"script", file},
                                  {"params", params},
                                  {"set", c.set},
                                  {"target", task.target},
                                  {"lib_dirs", c.module_folders()},
                                  {"build_seconds", seconds},
                                  {"memory_bytes", task.limits.memory_bytes},
                                  {"library", b.library()}},
                                 seconds, b.measured);
    b.measured.build_seconds = since(begin);
    if (result.is_object()) {
        b.measured.status = status_of(result.at("status"));
        b.measured.message = without_directory(result.at("message"), directory);
        b.measured.library_bytes = result.value("library_bytes", int64_t(0));
        b.params = result.value("params", Assignments());
    }
    return b;
}

std::vector<Built> build_candidates(const Task &task, const std::vector<std::string> &directories, const std::vector<Candidate> &candidates,
                                    int jobs) {
    std::vector<Built> built(candidates.size());
    std::vector<std::exception_ptr> errors(candidates.size());
    std::atomic<size_t> next{0};
    const auto some = [&] {
        for (size_t n; (n = next++) < candidates.size();) {
            try {
                built[n] = build_candidate(task, directories[n], "", candidates[n], task.limits.build_seconds);
            } catch (...) {
                errors[n] = std::current_exception();
                next = candidates.size();
            }
        }
    };
    const size_t processes = jobs > 0 ? size_t(jobs) : size_t(std::max(cpu().processors, 1));
    std::vector<std::thread> threads;
    for (size_t n = 1; n < std::min(processes, candidates.size()); n++) {
        threads.emplace_back(some);
    }
    some();
    for (auto &t : threads) {
        t.join();
    }
    for (const auto &e : errors) {
        if (e) {
            std::rethrow_exception(e);
        }
    }
    return built;
}

Measured run_built(const Task &task, const Built &b, const std::string &outputs, bool compare, double best, double seconds) {
    Measured m = b.measured;
    m.status = Status::kCrash;
    const auto begin = Clock::now();
    const json result = run_step(b.directory,
                                 {{"step", "run"},
                                  {"op", task.op},
                                  {"generator", task.generator},
                                  {"shape", task.shape},
                                  {"params", b.params},
                                  {"threads", task.threads},
                                  {"run_seconds", seconds},
                                  {"device", is_cuda(task.target)},
                                  {"memory_bytes", task.limits.memory_bytes},
                                  {"library", b.library()},
                                  {"outputs", outputs},
                                  {"compare", compare},
                                  {"floats", b.floats},
                                  {"best", best}},
                                 seconds, m);
    if (result.is_object()) {
        m = measured_of(result);
    }
    m.run_seconds = since(begin);
    m.build_seconds = b.measured.build_seconds;
    m.library_bytes = b.measured.library_bytes;
    return m;
}

InTurns run_in_turns(const Task &task, const std::vector<Built> &built, double seconds) {
    const double limit = double(built.size() + 1) * (task.limits.run_seconds + seconds);
    json kernels = json::array();
    for (const Built &b : built) {
        kernels.push_back({{"library", b.library()}, {"params", b.params}});
    }
    Measured failed;
    const json result = run_step(built.at(0).directory,
                                 {{"step", "turns"},
                                  {"op", task.op},
                                  {"generator", task.generator},
                                  {"shape", task.shape},
                                  {"kernels", kernels},
                                  {"threads", task.threads},
                                  {"seconds", seconds},
                                  {"run_seconds", limit},
                                  {"device", is_cuda(task.target)},
                                  {"memory_bytes", task.limits.memory_bytes}},
                                 limit, failed);
    InTurns all;
    if (result.is_object() && result.contains("status")) {
        failed = measured_of(result);
    }
    bool is_whole = result.is_object() && result.contains("turns");
    if (is_whole) {
        try {
            all.contest = contest_from_json(result.at("turns"));
            is_whole = all.contest.all.size() == built.size();
        } catch (const json::exception &) {
            is_whole = false;
        }
        failed = is_whole ? failed : not_understood();
    }
    if (!is_whole) {
        all.contest = Contest();
        all.measured.assign(built.size(), failed);
        all.contest.all.resize(built.size());
        return all;
    }
    for (const Contest::One &one : all.contest.all) {
        Measured m;
        m.status = Status::kOk;
        m.least = one.timing.minimum;
        m.lower = one.timing.lower;
        m.median = one.timing.median;
        m.upper = one.timing.upper;
        m.samples = one.timing.samples;
        m.whole = true;
        if (!one.result.ok()) {
            m.refuse(one.result.code, one.result.message);
        }
        all.measured.push_back(m);
    }
    return all;
}

}  // namespace halyard::explore
