#include "measurer.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "cpu.h"
#include "failure.h"
#include "generator_params.h"
#include "paths.h"
#include "reference.h"
#include "registry.h"
#include "targets.h"
#include "text.h"
#include "workload.h"

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
            s.result = json::parse(line, nullptr, false);
        }
    }
    return s;
}

// A worker that died, in words.
void blame_end(const ProcessResult &r, const std::string &phase, double seconds, Measured &m) {
    const std::string doing = phase.empty()    ? "while it was built"
                              : phase == "load" ? "while it was loaded"
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

struct Built {
    fs::path directory;  // holds kernel.so
    Assignments params;  // of the generator, all that hold
    Measured measured;   // status and message of the build
};

struct Reference {
    std::string name, outputs;
};

}  // namespace

struct Measurer::Implementation {
    explicit Implementation(Task t)
        : task(std::move(t)), work(temporary_root()) {
        resolve_targets(task.target);
        if (task.generator.empty()) {
            check_shape(find_op(task.op), task.shape);
        } else if (!task.shape.empty()) {
            throw UsageError(fmt::format("{} is not of the registry: its sizes are those that its generator estimates, "
                                         "so leave the shape out",
                                         task.op));
        }
        if (task.threads < 1 || task.threads > 1024) {
            throw UsageError(fmt::format("{} is not a number of threads", task.threads));
        }
    }

    // One run of `halyard candidate`.
    json worker(const fs::path &directory, const json &job, double seconds, Measured &m) {
        const std::string file = (directory / (job.at("step").get<std::string>() + ".json")).string();
        write_file(file, job.dump());
        const fs::path command = fs::path(paths().root) / "bin/halyard";
        ProcessOptions options;
        options.timeout = seconds + 10;  // it stops itself before
        options.end_group = true;
        const ProcessResult r =
            run_process({require_piece(command.string(), "the command itself"), "candidate", file}, options);
        const Said s = said(r.out);
        if (!r.ok() || !s.result.is_object()) {
            blame_end(r, job.at("step") == "build" ? "" : s.phase.empty() ? "load" : s.phase, seconds, m);
            return nullptr;
        }
        return s.result;
    }

    Built build(const std::string &script, const Candidate &c, double seconds) {
        Built b;
        b.directory = fs::path(work.path()) / std::to_string(number++);
        fs::create_directory(b.directory);
        std::vector<std::string> lib_dirs;
        if (!c.folder.empty()) {
            lib_dirs = {c.folder, fs::path(c.folder).parent_path().string()};
        }
        Assignments params = task.params;
        for (const auto &p : c.params) {
            params[p.first] = p.second;
        }
        std::string file = script;
        if (script.empty()) {
            file = (b.directory / (task.op + ".lua")).string();
            write_file(file, c.lua);
        }
        const auto begin = Clock::now();
        const json result =
            worker(b.directory,
                   {{"step", "build"}, {"op", task.op}, {"generator", task.generator}, {"script", file},
                    {"params", params}, {"set", c.set}, {"target", task.target}, {"lib_dirs", lib_dirs},
                    {"build_seconds", seconds}, {"memory_bytes", task.limits.memory_bytes},
                    {"library", (b.directory / "kernel.so").string()}},
                   seconds, b.measured);
        b.measured.build_seconds = since(begin);
        if (result.is_object()) {
            b.measured.status = status_of(result.at("status"));
            b.measured.message = without_directory(result.at("message"), b.directory);
            b.measured.library_bytes = result.value("library_bytes", int64_t(0));
            b.params = result.value("params", Assignments());
        }
        return b;
    }

    // `jobs` at a time; 0: a process a processor.
    std::vector<Built> build_all(const std::vector<Candidate> &candidates, int jobs) {
        std::vector<Built> built(candidates.size());
        std::vector<std::exception_ptr> errors(candidates.size());
        std::atomic<size_t> next{0};
        const auto some = [&] {
            for (size_t n; (n = next++) < candidates.size();) {
                try {
                    built[n] = build("", candidates[n], task.limits.build_seconds);
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

    // A message about a candidate's file, which is gone when somebody reads it.
    std::string without_directory(std::string text, const fs::path &directory) const {
        const std::string prefix = directory.string() + "/";
        for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at)) {
            text.erase(at, prefix.size());
        }
        return text;
    }

    json run(const Built &b, const std::string &outputs, bool compare, double best, double seconds, Measured &m) {
        return worker(b.directory,
                      {{"step", "run"}, {"op", task.op}, {"shape", task.shape}, {"params", b.params},
                       {"threads", task.threads}, {"run_seconds", seconds},
                       {"memory_bytes", task.limits.memory_bytes},
                       {"library", (b.directory / "kernel.so").string()}, {"outputs", outputs},
                       {"compare", compare}, {"best", best}},
                      seconds, m);
    }

    void remove(const Built &b) const {
        std::error_code ignored;
        fs::remove_all(b.directory, ignored);
    }

    // Every variant of the generator has one of its own, made when the first candidate needs it.
    const Reference &reference(Assignments params) {
        // Also those that nobody named: a trusted schedule that declares others, as packed weights, is not of this task.
        for (const auto &p : defaults()) {
            params.insert(p);
        }
        const std::string key = assignments_text(params);
        const auto known = references.find(key);
        if (known != references.end()) {
            return known->second;
        }
        std::string why;
        for (const Trusted &t : trusted_schedules(task, work.path())) {
            Candidate c;
            c.params = params;
            const Built b = build(t.script, c, 5 * task.limits.build_seconds);
            Measured m = b.measured;
            const std::string outputs = fmt::format("{}/reference-{}", work.path(), references.size());
            if (m.ok()) {
                m.status = Status::kCrash;
                const json result = run(b, outputs, false, 0, 10 * task.limits.run_seconds, m);
                m = result.is_object() ? measured_from_json(result) : m;
            }
            remove(b);
            if (m.ok()) {
                return references[key] = {t.name, outputs};
            }
            why += fmt::format("\n  {}: {}: {}", t.name, status_name(m.status), m.message);
        }
        throw Failure(fmt::format("{}: error: no schedule that is known to be right runs with {} to check candidates "
                                  "against{}",
                                  task.op, key.empty() ? "these parameters" : key, why));
    }

    const Assignments &defaults() {
        if (!defaults_) {
            defaults_ = Assignments();
            const std::string executable =
                task.generator.empty() ? require_piece(paths().generators, "the generator of every op") : task.generator;
            for (const auto &p : generator_params(executable, task.op)) {
                defaults_->emplace(p.name, p.value);
            }
        }
        return *defaults_;
    }

    Measured finish(const Built &b, double best) {
        Measured m = b.measured;
        if (m.ok()) {
            const Reference &r = reference(b.params);
            const auto begin = Clock::now();
            const json result = run(b, r.outputs, true, best, task.limits.run_seconds, m);
            if (result.is_object()) {
                m = measured_from_json(result);
            }
            m.run_seconds = since(begin);
            m.reference = r.name;
            m.build_seconds = b.measured.build_seconds;
            m.library_bytes = b.measured.library_bytes;
        }
        remove(b);
        return m;
    }

    Task task;
    TemporaryDirectory work;
    std::map<std::string, Reference> references;
    std::optional<Assignments> defaults_;  // of the generator
    std::atomic<int> number{0};
};

Measurer::Measurer(Task task)
    : implementation_(std::make_unique<Implementation>(std::move(task))) {
}

Measurer::~Measurer() = default;

const Task &Measurer::task() const {
    return implementation_->task;
}

Measured Measurer::measure(const Candidate &candidate, double best) {
    return measure(std::vector<Candidate>{candidate}, best, 1).front();
}

std::vector<Measured> Measurer::measure(const std::vector<Candidate> &candidates, double best, int jobs,
                                        const std::function<void(size_t, const Measured &)> &each) {
    Implementation &i = *implementation_;
    const std::vector<Built> built = i.build_all(candidates, jobs);
    std::vector<Measured> all;
    for (const Built &b : built) {
        all.push_back(i.finish(b, best));
        if (each) {
            each(all.size() - 1, all.back());
        }
        if (all.back().ok() && (best <= 0 || all.back().least < best)) {
            best = all.back().least;
        }
    }
    return all;
}

std::vector<Measured> Measurer::in_turns(const std::vector<Candidate> &candidates, double seconds) {
    Implementation &i = *implementation_;
    const std::vector<Built> built = i.build_all(candidates, 0);
    std::vector<Measured> all;
    json kernels = json::array();
    std::vector<size_t> places;
    for (const Built &b : built) {
        if (b.measured.ok()) {
            places.push_back(all.size());
            kernels.push_back({{"library", (b.directory / "kernel.so").string()}, {"params", b.params}});
        }
        all.push_back(b.measured);
    }
    if (!places.empty()) {
        const double limit = double(places.size()) * (i.task.limits.run_seconds + seconds);
        Measured failed;
        const json result = i.worker(built[places[0]].directory,
                                     {{"step", "turns"}, {"op", i.task.op}, {"shape", i.task.shape}, {"kernels", kernels},
                                      {"threads", i.task.threads}, {"seconds", seconds}, {"run_seconds", limit},
                                      {"memory_bytes", i.task.limits.memory_bytes}},
                                     limit, failed);
        for (size_t n = 0; n < places.size(); n++) {
            const bool there = result.is_object() && result.contains("turns") && n < result.at("turns").size();
            if (!there && result.is_object() && result.contains("status")) {
                failed = measured_from_json(result);
            }
            all[places[n]] = there ? measured_from_json(result.at("turns")[n]) : failed;
        }
    }
    for (const Built &b : built) {
        i.remove(b);
    }
    return all;
}

Measured measure(const Task &task, const Candidate &candidate) {
    return Measurer(task).measure(candidate);
}

}  // namespace halyard::explore
