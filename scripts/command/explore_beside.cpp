#include "command/explore_beside.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "kernel/cpu.h"
#include "explore/store/entry.h"
#include "command/explore_compare.h"
#include "explore/space/halide.h"
#include "explore/measure/reference.h"
#include "explain/explain_words.h"
#include "explore/space/query.h"
#include "kernel/failure.h"
#include "kernel/schedules.h"
#include "language/script.h"
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
    for (const std::string &name : schedules) {
        if (name == kOwn) {
            all.push_back(beside_own(measure));
            continue;
        }
        const Contender c = contenders_of(options, task, {name}).front();
        all.push_back({c.name, false, c.candidate, measure(c.candidate)});
    }
    return all;
}

Beside beside_own(const MeasureOne &measure) {
    Beside b;
    b.candidate = own_candidate();
    b.name = b.candidate.origin;
    b.own = true;
    b.measured = measure(b.candidate);
    return b;
}

std::vector<Contender> shipped_for(const CommonOptions &options, const Task &task) {
    const std::string place = is_cuda(task.target) ? "cuda" : "cpu";
    std::vector<std::string> names = {""}, last;
    for (const auto &s : schedules_of(task.op)) {
        if (s.place == place && s.name != task.op) {
            (s.name == task.op + ".unfused" ? last : names).push_back(s.name);
        }
    }
    names.insert(names.end(), last.begin(), last.end());
    CommonOptions plain = options;
    plain.set.clear();  // for parameters of what is searched
    const Assignments wanted = whole_params(task, beside_free(task, task.params));
    for (const auto &name : names) {
        GenerateRequest request = plain.request(task.op, name, &task.shape);
        request.target = task.target;
        for (const auto &p : task.params) {
            request.params.insert(p);
        }
        try {
            if (whole_params(task, beside_free(task, make_plan(request).params)) == wanted) {
                return contenders_of(plain, task, {name});
            }
        } catch (const Failure &) {  // of another interface
        } catch (const ScriptError &) {
        } catch (const UsageError &) {
        }
    }
    return {};
}

std::vector<Beside> beside_halide(const Task &task, double seconds, Measurer &measurer, const MeasureOne &measure) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    std::vector<Beside> all;
    const auto names = halide_schedulers(task);
    for (size_t n = 0; n < names.size(); n++) {
        const double left = seconds - std::chrono::duration<double>(Clock::now() - begin).count();
        Task limited = task;
        limited.limits.build_seconds = std::min(left / double(names.size() - n), kBuildSeconds);
        if (limited.limits.build_seconds < 1) {
            break;
        }
        const auto end =
            Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limited.limits.build_seconds));
        const HalideSchedule s = halide_schedule(limited, names[n]);
        Beside b;
        b.name = "Halide's " + names[n];
        b.halide = true;
        b.candidate = s.candidate;
        b.problem = s.problem;
        b.measured.status = Status::kTimeout;
        b.measured.message = s.problem;
        if (!s.timed_out) {
            measurer.end_candidates_at(end);
            b.measured = measure(s.candidate);
            measurer.end_candidates_at();
        }
        if (b.measured.status == Status::kPending) {
            b.measured.message =
                fmt::format("takes longer than {:.0f} s to be scheduled, built and measured", limited.limits.build_seconds);
        }
        all.push_back(std::move(b));
    }
    return all;
}

Ending time_in_turns(Measurer &measurer, std::vector<Tried> &found, std::vector<Beside> &beside, double seconds) {
    double fastest = 0;
    for (const Beside &b : beside) {
        if (b.halide && b.ok()) {
            fastest = fastest > 0 ? std::min(fastest, b.measured.least) : b.measured.least;
        }
    }
    std::vector<Candidate> candidates;
    Ending ending;
    const auto add = [&](const Candidate &c) {
        if (ending.place.emplace(c.id(), candidates.size()).second) {  // what a search began with is timed once
            candidates.push_back(c);
        }
    };
    for (const Tried &t : found) {
        add(t.proposal.candidate);
    }
    for (Beside &b : beside) {
        b.in_turns = b.ok() && (!b.halide || b.measured.least <= kNear * fastest);
        if (b.in_turns) {
            add(b.candidate);
        }
    }
    InTurns turns = measurer.in_turns(candidates, seconds);
    ending.contest = std::make_shared<const Contest>(std::move(turns.contest));
    for (Tried &t : found) {
        t.measured = turns.measured[ending.place.at(t.proposal.candidate.id())];
    }
    for (Beside &b : beside) {
        if (b.in_turns) {
            b.measured = turns.measured[ending.place.at(b.candidate.id())];
        }
    }
    found.erase(std::remove_if(found.begin(), found.end(), [](const Tried &t) { return !t.measured.ok(); }), found.end());
    std::stable_sort(found.begin(), found.end(), [](const Tried &a, const Tried &b) { return a.measured.median < b.measured.median; });
    return ending;
}

bool reaches(const Tried &best, const std::vector<Beside> &beside, double slack) {
    return std::all_of(beside.begin(), beside.end(), [&](const Beside &b) {
        return b.times == 0 || !b.ok() || b.measured.median >= slack * b.times * best.measured.median;
    });
}

void print_beside(const Tried &best, const std::vector<Beside> &beside) {
    for (const Beside &b : beside) {
        if (!b.ok()) {
            fmt::print(stderr, "{}: {}\n", b.name, b.measured.message);
        } else if (b.candidate.id() != best.proposal.candidate.id()) {
            fmt::print(stderr, "{}: {}{}, {:.2f} times as long as what was found{}\n", b.name, seconds_text(b.measured.median),
                       b.in_turns ? "" : " by itself", b.measured.median / best.measured.median,
                       b.problem.empty() ? "" : "; not in words: " + b.problem);
        }
    }
}

Outcome outcome(const Task &task, const Tried &found, const std::vector<Beside> &beside, const Ending &ending) {
    const Candidate &mine = found.proposal.candidate;
    const auto name = [](const Beside &b) { return b.ships ? "the shipped " + b.name : b.name; };
    const auto id = [](const Candidate &c) { return c.own ? "what a build without a schedule takes" : "db:" + c.id(); };
    const auto verdict = [&](const Candidate &a, const Candidate &b, const std::string &of_a, const std::string &of_b) {
        return ending.contest->verdict(ending.place.at(a.id()), ending.place.at(b.id()), of_a, of_b);
    };
    const auto tie = [&](const Candidate &a, const Candidate &b) {
        return ending.contest->tie(ending.place.at(a.id()), ending.place.at(b.id()));
    };
    // What is clearly faster than what was found; of several the fastest.
    const Beside *winner = nullptr, *against = nullptr;
    for (const Beside &b : beside) {
        if (!b.ok() || !b.in_turns || !ending.has(b.candidate) || b.candidate.id() == mine.id()) {
            continue;
        }
        const bool faster = b.measured.median < found.measured.median && !tie(b.candidate, mine);
        winner = faster && (!winner || b.measured.median < winner->measured.median) ? &b : winner;
        const bool ahead =
            !against || (b.ships && !against->ships) || (b.ships == against->ships && b.measured.median < against->measured.median);
        against = ahead ? &b : against;
    }
    Outcome o;
    o.best = winner ? winner->candidate : mine;
    const std::string time = seconds_text(found.measured.median);
    const bool is_shipped =
        std::any_of(beside.begin(), beside.end(), [&](const Beside &b) { return b.ships && b.candidate.id() == mine.id(); });
    if (winner) {
        o.sentence = fmt::format("{}: the search did not win: {}. The best is {} ({}).", task.op,
                                 verdict(winner->candidate, mine, name(*winner), "what it found (" + time + ")"), id(winner->candidate),
                                 seconds_text(winner->measured.median));
    } else if (is_shipped) {
        o.sentence = fmt::format("{}: a tie: the best is what ships, {} ({}).", task.op, id(mine), time);
    } else if (!ending.contest) {
        o.sentence = fmt::format("{}: the best is {} ({}) by itself: no time was left to time it in turns.", task.op, id(mine), time);
    } else if (!against) {
        o.sentence = fmt::format("{}: the best is {} ({}); no schedule that ships takes these arguments, so it is held against none.",
                                 task.op, id(mine), time);
    } else {
        const bool same = tie(mine, against->candidate);
        o.sentence =
            fmt::format("{}: {}{}. The best is {} ({}).", task.op,
                        same ? "" : "the search won: ", verdict(mine, against->candidate, "what it found", name(*against)), id(mine), time);
    }
    return o;
}

nlohmann::json beside_json(const Task &task, const Tried &best, const std::vector<Beside> &beside, const Ending &ending) {
    nlohmann::json others = nlohmann::json::array();
    for (const Beside &b : beside) {
        nlohmann::json j = {{"name", b.name}, {"halide", b.halide}, {"in_turns", b.in_turns}, {"id", b.candidate.id()}};
        j["own"] = b.own;
        if (b.halide) {
            j["in_words"] = b.problem.empty();
            j["problem"] = b.problem;
        }
        if (b.ok()) {
            j["seconds"] = b.measured.median;
            j["ratio"] = b.measured.median / best.measured.median;
            if (ending.has(b.candidate) && ending.has(best.proposal.candidate)) {
                const size_t mine = ending.place.at(best.proposal.candidate.id()), its = ending.place.at(b.candidate.id());
                const Ratio r = ending.contest->ratio(mine, its);
                j["ratio"] = r.times;
                j["between"] = {r.low, r.high};
                j["tie"] = ending.contest->tie(mine, its);
            }
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
            {"model", !task.machine.empty()  ? task.machine
                      : is_cuda(task.target) ? machine_for(task.target)
                                             : cpu().model},
            {"machine", key_of(task).machine},
            {"compilers", these_compilers()},
            {"found", {{"id", best.proposal.candidate.id()}, {"seconds", best.measured.median}}},
            {"noise", ending.contest ? ending.contest->noise : 0},
            {"busy", ending.contest ? ending.contest->busy : ""},
            {"beside", others}};
}

}  // namespace halyard
