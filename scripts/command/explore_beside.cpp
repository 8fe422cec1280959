#include "command/explore_beside.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "kernel/cpu.h"
#include "explore/store/entry.h"
#include "command/explore_compare.h"
#include "explore/space/halide.h"
#include "explore/space/query.h"
#include "kernel/targets.h"

namespace halyard {

using namespace explore;

namespace {

constexpr double kBuildSeconds = 300;
// Times by themselves differ from those in turns by less.
constexpr double kNear = 1.5;

}  // namespace

Task patient(Task task) {
    task.limits.build_seconds = std::max(task.limits.build_seconds, kBuildSeconds);
    task.limits.run_seconds *= 3;
    task.limits.memory_bytes *= 2;
    return task;
}

Task with_interface(const CommonOptions &options, Task task, const std::string &schedule) {
    GenerateRequest request = options.request(task.op, schedule, &task.shape);
    request.target = task.target;
    for (const auto &p : beside_free(task, make_plan(request).params)) {
        task.params.insert(p);
    }
    return task;
}

Assignments beside_free(const Task &task, Assignments params) {
    for (const FreeParam &f : free_params(task)) {
        if (task.params.count(f.name) == 0) {
            params.erase(f.name);
        }
    }
    return params;
}

std::vector<Beside> beside_shipped(const CommonOptions &options, const Task &task, const std::vector<std::string> &schedules,
                                   const MeasureOne &measure) {
    std::vector<Beside> all;
    for (const Contender &c : contenders_of(options, task, schedules)) {
        all.push_back({c.name, false, c.candidate, measure(c.candidate)});
    }
    return all;
}

std::vector<Beside> beside_halide(const Task &task, double seconds, const MeasureOne &measure, const std::vector<Beside> &have) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    std::vector<Beside> all;
    for (const auto &name : halide_schedulers(task)) {
        if (std::any_of(have.begin(), have.end(), [&](const Beside &b) { return b.candidate.origin == name; })) {
            continue;
        }
        Task limited = task;
        const double left = seconds - std::chrono::duration<double>(Clock::now() - begin).count();
        limited.limits.build_seconds = std::min(left, kBuildSeconds);
        if (limited.limits.build_seconds < 1) {
            break;
        }
        const HalideSchedule s = halide_schedule(limited, name);
        Beside b;
        b.name = "Halide's " + name;
        b.halide = true;
        b.candidate = s.candidate;
        b.problem = s.problem;
        b.measured.status = Status::kTimeout;
        b.measured.message = s.problem;
        if (!s.timed_out) {
            b.measured = measure(s.candidate);
        } else if (task.limits.build_seconds < kBuildSeconds) {
            continue;  // with more patience, perhaps
        }
        all.push_back(std::move(b));
    }
    return all;
}

void time_in_turns(const Task &task, std::vector<Tried> &found, std::vector<Beside> &beside, double seconds) {
    double fastest = 0;
    for (const Beside &b : beside) {
        if (b.halide && b.ok()) {
            fastest = fastest > 0 ? std::min(fastest, b.measured.least) : b.measured.least;
        }
    }
    std::vector<Candidate> candidates;
    std::vector<Measured *> results;
    for (Tried &t : found) {
        candidates.push_back(t.proposal.candidate);
        results.push_back(&t.measured);
    }
    std::vector<std::pair<Beside *, Tried *>> same;  // what a search began with is timed once
    for (Beside &b : beside) {
        b.in_turns = b.ok() && (!b.halide || b.measured.least <= kNear * fastest);
        const auto t =
            std::find_if(found.begin(), found.end(), [&](const Tried &f) { return f.proposal.candidate.id() == b.candidate.id(); });
        if (b.in_turns && t != found.end()) {
            same.emplace_back(&b, &*t);
        } else if (b.in_turns) {
            candidates.push_back(b.candidate);
            results.push_back(&b.measured);
        }
    }
    const auto measured = Measurer(task).in_turns(candidates, seconds);
    for (size_t i = 0; i < measured.size(); i++) {
        *results[i] = measured[i];
    }
    for (const auto &[b, t] : same) {
        b->measured = t->measured;
    }
    found.erase(std::remove_if(found.begin(), found.end(), [](const Tried &t) { return !t.measured.ok(); }), found.end());
    std::stable_sort(found.begin(), found.end(), [](const Tried &a, const Tried &b) { return a.measured.least < b.measured.least; });
}

bool reaches(const Tried &best, const std::vector<Beside> &beside, double slack) {
    return std::all_of(beside.begin(), beside.end(), [&](const Beside &b) {
        return b.times == 0 || !b.ok() || b.measured.least >= slack * b.times * best.measured.least;
    });
}

void print_beside(const Tried &best, const std::vector<Beside> &beside) {
    for (const Beside &b : beside) {
        if (!b.ok()) {
            fmt::print(stderr, "{}: {}\n", b.name, b.measured.message);
        } else {
            fmt::print(stderr, "{}: {:.4g} ms{}, {:.2f} times as long{}\n", b.name, b.measured.least * 1e3, b.in_turns ? "" : " by itself",
                       b.measured.least / best.measured.least, b.problem.empty() ? "" : "; not in words: " + b.problem);
        }
    }
}

nlohmann::json beside_json(const Task &task, const Tried &best, const std::vector<Beside> &beside) {
    nlohmann::json others = nlohmann::json::array();
    for (const Beside &b : beside) {
        nlohmann::json j = {{"name", b.name}, {"halide", b.halide}, {"in_turns", b.in_turns}, {"id", b.candidate.id()}};
        if (b.halide) {
            j["in_words"] = b.problem.empty();
            j["problem"] = b.problem;
        }
        if (b.ok()) {
            j["seconds"] = b.measured.least;
            j["ratio"] = b.measured.least / best.measured.least;
        } else {
            j["message"] = b.measured.message;
        }
        others.push_back(std::move(j));
    }
    return {{"op", task.op},
            {"generator", task.generator.empty() ? "" : key_of(task).generator},
            {"shape", shape_key(task.shape)},
            {"params", task.params},
            {"target", task.target},
            {"threads", task.threads},
            {"model", is_cuda(task.target) ? machine_for(task.target) : cpu().model},
            {"machine", key_of(task).machine},
            {"compilers", these_compilers()},
            {"found", {{"id", best.proposal.candidate.id()}, {"seconds", best.measured.least}}},
            {"beside", others}};
}

}  // namespace halyard
